"""The wording of messages is asserted here, in the pages of this folder; other tests assert types, codes and values."""

import os

import pytest

from .sessions import PAGES, make_template, rendered, sessions

SESSIONS = [session for page in sorted(PAGES.glob("*.md")) for session in sessions(page)]


@pytest.fixture(scope="session")
def template(made_once):
    return made_once("messages-template", make_template)


@pytest.mark.parametrize("session", SESSIONS, ids=[f"{one.title}: {one.text.splitlines()[0]}" for one in SESSIONS])
def test_a_call_gives_the_message_of_the_page(session, template, tmp_path):
    found = rendered(session, template, tmp_path)
    assert found == session.text, "review the sentence, then: python -m tests.messages.sessions"
    # A message that is not given any more would show a call without one.
    assert found.splitlines()[-1][:2] not in {"$ ", ">>"}
    assert "Traceback" not in found
    assert os.path.realpath(tmp_path) not in found
    assert not (tmp_path / "NEW" / "manifest.json").exists()  # a refused conversion writes no dataset
