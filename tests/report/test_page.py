"""The page in headless Chromium: one browser for all tests, and a page about each kind of dataset."""

import csv
import io
import re

import pytest

from shardkit.conversion.writing.source_plan import planned_source
from shardkit.options.call import Call
from shardkit.options.groups import ConvertOptions
from shardkit.parallel.progress import Silent
from shardkit.parallel.threads import ThreadExecutor
from shardkit.report.dataset_collection import DatasetCollection
from shardkit.report.facts.gathering import ReportOptions
from shardkit.report.page.class_table import ROWS_SHOWN
from shardkit.report.page.html import make_page
from shardkit.report.page.template import save_page
from shardkit.report.source_collection import SourceCollection
from shardkit.sources import SourceOptions
from shardkit.storage import open_folder
from shardkit.testing import convert_without_beam, picture, write_tree

from ..cli.calling import SAMPLE_DATA

SCRIPT = "<script>alert(1)</script>"
MAX_PAGE_BYTES = 5_000_000
STATED = SourceOptions(label_columns=("label",))  # a script for a class is asked about
SAMPLES = {"boxes": "coco", "masks": "masks", "numbers": "regression.parquet", "labels": "multilabel.jsonl"}


def troubled_source(root):
    """A table of 45 classes and two splits, with a name that is a script, a duplicate, a leak, and a broken file."""
    files, rows = {}, []
    names = [SCRIPT, *(f"class {number:02d}" for number in range(44))]
    for number, name in enumerate(names):
        for at, split in enumerate(["train", "train", "test"][: 2 if number % 9 == 5 else 3]):
            files[f"{number}_{at}.png"] = picture(number * 3 + at)
            rows.append([f"{number}_{at}.png", name, split])
    files["same.png"], files["leak.png"] = files["1_0.png"], files["2_0.png"]
    files["broken.png"] = files["3_0.png"][:-20]
    files["no_label.png"] = picture(999, width=40, height=20)
    rows += [["same.png", "class 30", "train"], ["leak.png", "class 01", "test"], ["broken.png", "class 02", "train"]]
    rows.append(["no_label.png", "", "train"])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["image", "label", "split"], *rows])
    write_tree(root, {**files, "labels.csv": out.getvalue().encode()})
    return root / "labels.csv"


def page_of_dataset(source, folder, name, options=SourceOptions()):  # noqa: B008 - frozen
    manifest_folder = folder / f"{name}-dataset"
    convert_without_beam(str(source), str(manifest_folder), source_options=options)
    from shardkit.dataset.manifest import read_manifest

    images = open_folder(str(source.parent)) if name == "classes" else None
    return make_page(DatasetCollection(read_manifest(str(manifest_folder)), images), ReportOptions(hosts=4))[0]


def page_of_source(source, options=SourceOptions()):  # noqa: B008 - frozen
    with planned_source(str(source), options, ConvertOptions(), ThreadExecutor(1), Silent()) as (opened, plan):
        return make_page(SourceCollection(opened, plan, Call("plan", (str(source),))), ReportOptions())[0]


@pytest.fixture(scope="session")
def pages(made_once):
    """The folder of the pages."""

    def make(folder):
        troubled = troubled_source(folder / "troubled")
        found = {
            "classes": page_of_dataset(troubled, folder, "classes", STATED),
            "source": page_of_source(troubled, STATED),
        }
        for name, sample in SAMPLES.items():
            found[name] = page_of_dataset(SAMPLE_DATA / sample, folder, name)
        found["boxes-source"] = page_of_source(SAMPLE_DATA / "coco")
        found["masks-source"] = page_of_source(SAMPLE_DATA / "masks")
        for name, page in found.items():
            save_page(page, folder / f"{name}.html")

    return made_once("report-pages", make)


NAMES = ["classes", "source", *SAMPLES, "boxes-source", "masks-source"]


@pytest.fixture
def opened(show, pages):
    """Return an opened page; at the end of the test it must have logged nothing and asked for nothing."""
    said = []
    listeners = {
        "console": lambda message: said.append(message.text),
        "pageerror": lambda error: said.append(str(error)),
        "dialog": lambda dialog: (said.append(f"dialog {dialog.message}"), dialog.dismiss()),
        "request": lambda request: request.url.startswith(("file:", "data:")) or said.append(request.url),
    }

    def open_page(name, *, width=1400, scheme="light"):
        return show((pages / f"{name}.html").as_uri(), width, scheme, **listeners)

    yield open_page
    assert said == []


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_small_whole_and_asks_for_nothing(pages, name):
    page = (pages / f"{name}.html").read_text()
    assert len(page.encode()) < MAX_PAGE_BYTES
    assert page.rstrip().endswith("</html>")
    assert SCRIPT not in page
    assert " style=" not in page
    assert not re.search(r"(src|href)=\"(?!data:image/webp;base64,|#)", page)
    assert "default-src &#39;none&#39;" in page
    assert "unsafe" not in page


# Each width, scheme and kind of page once; all combinations are slow.
@pytest.mark.parametrize(
    ("width", "scheme", "names"),
    [
        (390, "light", ["classes"]),
        (1400, "light", ["masks"]),
        (390, "dark", ["labels"]),
        (1400, "dark", ["boxes-source"]),
        *(
            pytest.param(width, scheme, NAMES, marks=pytest.mark.slow)
            for width in (390, 1400)
            for scheme in ("light", "dark")
        ),
    ],
)
def test_axe_finds_nothing_serious(opened, width, scheme, names):
    from axe_playwright_python.sync_playwright import Axe

    for name in names:
        page = opened(name, width=width, scheme=scheme)
        found = Axe().run(page).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in {"serious", "critical"}
        ]
        assert serious == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} scrolls sideways"


def test_classes_are_searched_sorted_and_unfolded(opened):
    page = opened("classes")
    table, status = page.locator("#class-table tbody tr"), page.locator("#class-status")
    assert table.count() == ROWS_SHOWN
    page.get_by_role("button", name="Show 25 more").click()
    assert table.count() == 45
    page.get_by_label("Search").fill("CLASS 3")
    assert table.count() == 10
    assert status.inner_text() == "10 of 45 classes"
    page.get_by_label("Search").fill("")
    head = page.locator("th[data-sort=name] button")
    head.press("Enter")  # by keyboard
    names = page.locator("#class-table tbody th").all_inner_texts()
    assert names == sorted(names)
    assert names[0] == SCRIPT
    head.press("Enter")
    assert page.locator("#class-table tbody th").first.inner_text() == "class 43"
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"


def test_numbers_of_the_table_are_the_same_with_and_without_scripts(opened, browser, pages):
    texts = [opened("classes").locator("#class-table tbody").inner_text()]
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((pages / "classes.html").as_uri())
    texts.append(page.locator("#class-table tbody").inner_text())
    context.close()
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == ROWS_SHOWN


def test_pictures_are_folded_by_kind_and_unfolded_for_paper(opened):
    page = opened("classes")
    folded = page.locator("#pictures details")
    assert folded.count() == 3
    second = folded.nth(1)
    assert not second.locator("img").first.is_visible()
    second.locator("summary").click()
    assert second.locator("img").first.is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#pictures details:not([open])").count() == 1
    assert page.pdf().startswith(b"%PDF")
    images = page.locator("main img")
    assert images.count() > 50
    assert images.evaluate_all("all => all.filter(one => !(one.alt && one.complete && one.naturalWidth)).length") == 0


def test_what_is_wrong_is_shown_side_by_side(opened):
    page = opened("classes")
    assert page.locator("#conflicts .set").get_attribute("aria-label") == "class 00 ≠ class 30"
    assert page.locator("#leaks .set").get_attribute("aria-label") == "train ≠ test"
    assert page.locator("#conflicts img").count() == 2
    assert page.locator("#conflicts figcaption").all_inner_texts() == ["class 00", "class 30"]
    assert "--labels fixes.csv" in page.locator("#conflicts pre").inner_text()
    assert page.locator("#warnings .fine").count() == 0
    assert page.locator("#leaks img").count() == 2
    assert page.locator("#rejected img").count() == 1  # the one that opens
    warnings = page.locator(".advice").inner_text()
    for said in ("no image in “test”", "have only 1 to 19 images", "exact duplicates in another split", "4 hosts"):
        assert said in warnings
    assert page.locator("h1").inner_text() == "classes-dataset"


def test_a_picture_opens_larger_and_the_keyboard_goes_on(opened):
    page = opened("classes")
    small, dialog = page.locator("#conflicts button.zoom").first, page.locator("dialog")
    small.press("Enter")
    assert dialog.locator("img").bounding_box()["height"] > 2 * small.locator("img").bounding_box()["height"]
    assert page.locator("#picture-key").inner_text() == "1_0.png"
    assert page.locator("#picture-details").inner_text().startswith("class 00 · train · ")
    page.keyboard.press("ArrowRight")
    assert page.locator("#picture-key").inner_text() == "same.png"
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.wait_for_function("document.activeElement.dataset.key === 'same.png'")  # the event of closing comes later


def test_a_class_in_the_table_leads_to_its_pictures(opened):
    page = opened("classes")
    link = page.locator("#class-table").get_by_role("link", name="class 00")
    link.click()
    sheet = page.locator(".sheet:target")
    assert sheet.locator("h3").inner_text().startswith("class 00")
    assert sheet.locator("img").first.is_visible()


def test_pictures_have_one_height_and_one_line_below(opened):
    for name in ("classes", "boxes"):
        page = opened(name)
        tiles = page.locator("#pictures details[open] .thumb")
        heights = tiles.evaluate_all("all => all.map(tile => Math.round(tile.getBoundingClientRect().height))")
        assert len(set(heights)) == 1, name


def test_what_was_looked_for_and_not_found_is_one_line_each(opened):
    page = opened("masks")
    found = page.locator("#warnings ul.fine li").all_inner_texts()
    assert "No file was rejected." in found
    assert page.locator("#rejected, #leaks, #conflicts").count() == 0


def test_a_source_is_described_before_its_conversion(opened):
    page = opened("source")
    assert page.locator(".kicker").inner_text() == "shardkit report · source, before its conversion"
    assert "would be written" in page.locator("#shards").inner_text()
    assert "shardkit convert" in page.locator("#made pre").inner_text()
    assert page.locator("#leaks img").count() == 2
    assert "--dedupe drop" in page.locator(".advice").inner_text()
    assert page.locator("#pictures img").count() > 50


@pytest.mark.parametrize(
    ("name", "section", "said"),
    [
        ("boxes", "boxes", "45 boxes in all 24 images"),
        ("boxes-source", "boxes", "45 boxes in all 24 images"),
        ("masks", "masks", "Counted in the masks of all 12 images"),
        ("masks-source", "masks", "Counted in the masks of all 12 images"),
        ("numbers", "numbers", "Quantiles of the labels"),
        ("labels", "labels", "Labels that occur together"),
    ],
)
def test_each_kind_has_its_section(opened, name, section, said):
    page = opened(name)
    assert said in page.locator(f"#{section}").inner_text()
    assert page.locator(f"#{section} svg.chart").count() >= 1
    assert page.locator("#pictures img").count() > 5
