"""The routes of the page: its files, the lists, pictures and records of a dataset, and the decisions about it.

Answers are JSON, which the page puts into its elements as text. An error of the library is a sentence with status 400.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from shardkit.dataset.features import MASK, OBJECT_LABELS, OBJECTS
from shardkit.dataset.manifest import Manifest
from shardkit.dataset.rejected_list import read_rejected
from shardkit.errors import CallError, DataError, ShardkitError
from shardkit.records.drawing import Annotations
from shardkit.records.html import described
from shardkit.storage import Folder
from shardkit.view.fixes import Fixes
from shardkit.view.guard import Guard
from shardkit.view.lists import Find, Found, Lists, Query, classes_of
from shardkit.view.pictures import SIDES, Pictures, described_annotations, rejected_jpeg
from shardkit.view.queues import queues_of
from shardkit.view.rows import Rows

_ANNOTATED = {"Boxes": f"{OBJECTS}bbox", "Masks": MASK}
_MOST_ROWS = 500  # of a request
_MOST_DECIDED = 5_000  # examples of a decision
_MOST_BODY = 128 << 10  # bytes of a decision
_MOST_DIGITS = 16  # of a number in an address
_WAIT_SECONDS = 0.4  # for a list, before its progress is answered
_FILES = {
    "/": ("view.html", "text/html"),
    "/view.css": ("view.css", "text/css"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in ("gallery", "large", "decisions")},
}


class View:
    """What the page shows of a dataset."""

    def __init__(
        self, manifest: Manifest, dataset: str, folder: Path, token: str, source: Folder | None = None
    ) -> None:
        """Open a dataset.

        Args:
            manifest: Its manifest.
            dataset: The dataset as the user named it.
            folder: The folder of the files of decisions; it exists.
            token: The token that requests need.
            source: The folder that the dataset was made from, for pictures of rejected files; None if it is not known.

        Raises:
            CallError: The files in the folder cannot be continued.
            DataError: The dataset is damaged.
            MachineError: A file cannot be read.
        """
        self._manifest, self._token = manifest, token
        self._rows = Rows(manifest)
        self.fixes = Fixes(self._rows, dataset, folder)
        self._rejected, self._source = read_rejected(manifest), source
        queues: dict[str, Find] = {**queues_of(self._rows), "decided": self._decided}
        self._lists, self._pictures = Lists(self._rows, queues), Pictures(self._rows)
        self._queues = [*queues]
        self._decoders = asyncio.Semaphore(max(2, os.cpu_count() or 2))

    def app(self, signed_in: Callable[[], None] = lambda: None) -> ASGIApp:
        """Return the application, guarded by the token.

        Args:
            signed_in: Called when a browser has opened the address with the token.
        """
        folder = resources.files("shardkit.view") / "page"
        routes = [Route(path, _file((folder / name).read_bytes(), kind)) for path, (name, kind) in _FILES.items()]
        routes += [
            Route("/api/dataset", _answer(self._dataset)),
            Route("/api/list", _answer(self._list)),
            Route("/api/rows", _answer(self._some_rows)),
            Route("/api/rejected", _answer(self._some_rejected)),
            Route("/api/example/{number}", _answer(self._example)),
            Route("/picture/{number}", self._picture),
            Route("/mask/{number}", self._mask),
            Route("/rejected/{number}", self._rejected_picture),
            Route("/api/decide", self._decide, methods=["POST"]),
            Route("/api/undo", self._undo, methods=["POST"]),
        ]
        return Guard(Starlette(routes=routes), self._token, signed_in)

    def _dataset(self, _: Request) -> dict[str, Any]:
        manifest = self._manifest
        counts = map(sum, zip(*(split.class_counts for split in manifest.splits.values()), strict=True))
        return {
            "name": manifest.root.url.rstrip("/").rpartition("/")[2],
            "place": manifest.root.url,
            "token": self._token,
            "num": self._rows.num,
            "splits": {name: split.num_examples for name, split in manifest.splits.items()},
            "classes": list(zip(classes_of(manifest), counts, strict=False)),
            "num_rejected": len(self._rejected),
            "has_source": self._source is not None,
            "queues": self._queues,
            "annotated": next((what for what, name in _ANNOTATED.items() if name in manifest.features), ""),
            "can_relabel": self.fixes.can_relabel,
            **self._decisions(),
        }

    def _decisions(self) -> dict[str, Any]:
        decisions = list(self.fixes.decisions.values())
        return {
            "num_dropped": decisions.count(None),
            "num_relabelled": len(decisions) - decisions.count(None),
            "can_undo": self.fixes.can_undo,
            "command": self.fixes.command(),
        }

    def _decided(self, _: Rows, __: Callable[[int, int], None]) -> Found:
        return Found(self.fixes.numbers())

    def _list(self, request: Request) -> dict[str, Any]:
        job = self._lists.job(Query.of(request.query_params))
        if not job.wait(_WAIT_SECONDS):
            return {"done": job.done, "total": job.total}
        found = _found(job.error, job.found)
        return {"num": len(found.numbers), "note": found.note}

    def _some_rows(self, request: Request) -> dict[str, Any]:
        job = self._lists.job(Query.of(request.query_params))
        job.wait(None)
        found = _found(job.error, job.found)
        part = _part(request)
        numbers = [int(number) for number in found.numbers[part]]
        rows = self._rows.read(numbers)
        sets = [None] * len(rows) if found.sets is None else found.sets[part].tolist()
        return {"rows": [self._shown(row, one) for row, one in zip(rows, sets, strict=True)]}

    def _shown(self, row: dict[str, Any], one: int | None) -> dict[str, Any]:
        names = ("number", "key", "split", "classes", "is_unlabelled", "height", "width")
        return {**{name: row[name] for name in names}, "set": one, **self._decision(row["number"])}

    def _decision(self, number: int) -> dict[str, Any]:
        decision = self.fixes.decisions.get(number, "")
        return {"dropped": decision is None, "label": decision or None}

    def _some_rejected(self, request: Request) -> dict[str, Any]:
        part = _part(request)
        return {"rows": self._rejected.slice(part.start, part.stop - part.start).to_pylist()}

    def _example(self, request: Request) -> dict[str, Any]:
        number = _number(request, self._rows.num)
        [row] = self._rows.read([number])
        example = self._rows.example(number)
        place = example.location
        record = {
            "key": row["key"],
            "split": row["split"],
            "classes": ", ".join(row["classes"]) or "none",
            "size": f"{row['width']} × {row['height']} pixels",
            **({"group": row["group"]} if row["group"] else {}),
            "source file": f"{row['source_bytes']:,} bytes",
            "normalised": row["changes"] or "nothing: the bytes of the source",
            "shard": f"{place.shard}, record {place.record:,}",
        }
        others = {"key", "image", "height", "width", *_ANNOTATED.values(), OBJECT_LABELS}
        record |= {name: described(value) for name, value in example.items() if name not in others}
        annotations = Annotations(())
        try:
            annotations = example.annotations()
        except DataError as error:
            record["problem"] = str(error)
        return {**self._shown(row, None), "record": list(record.items()), **described_annotations(annotations)}

    async def _picture(self, request: Request) -> Response:
        number, is_bare = _number(request, self._rows.num), request.query_params.get("bare") == "1"
        return await self._drawn(request, lambda side: self._pictures.jpeg(number, side, is_bare=is_bare))

    async def _mask(self, request: Request) -> Response:
        number = _number(request, self._rows.num)
        return await self._drawn(request, lambda side: self._pictures.mask_png(number, side), "image/png")

    async def _rejected_picture(self, request: Request) -> Response:
        number, source = _number(request, len(self._rejected)), self._source
        if source is None:
            return _failed(CallError("the folder of the source is not known"))
        return await self._drawn(
            request, lambda side: rejected_jpeg(source, self._rejected["key"][number].as_py(), side)
        )

    async def _drawn(self, request: Request, draw: Callable[[int], bytes], kind: str = "image/jpeg") -> Response:
        side = request.query_params.get("side", "")
        if side not in {str(one) for one in SIDES}:
            return _failed(CallError(f"a picture has a side of {', '.join(map(str, SIDES))} pixels"))
        async with self._decoders:
            if await request.is_disconnected():  # scrolled away
                return Response(status_code=204)
            try:
                picture = await run_in_threadpool(draw, int(side))
            except ShardkitError as error:
                return _failed(error)
        return Response(picture, media_type=kind)

    async def _decide(self, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BODY:
                return _failed(CallError("the decision is too long"))
        try:
            asked = json.loads(body)
            numbers, decision = asked["numbers"], asked["label"]
            if not (1 <= len(numbers) <= _MOST_DECIDED and isinstance(decision, str | None)):
                raise ValueError
            if any(type(number) is not int or not 0 <= number < self._rows.num for number in numbers):
                raise ValueError
        except (KeyError, TypeError, ValueError, RecursionError):
            what = f"the numbers of 1 to {_MOST_DECIDED:,} examples, and a label or null"
            return _failed(CallError(f"a decision is an object with {what}"))
        return await self._changed(lambda: self.fixes.decide(numbers, decision))

    async def _undo(self, _: Request) -> Response:
        return await self._changed(self.fixes.undo)

    async def _changed(self, change: Callable[[], list[int]]) -> Response:
        try:
            numbers = await run_in_threadpool(change)
        except ShardkitError as error:
            return _failed(error)
        self._lists.forget("decided")
        examples = [{"number": number, **self._decision(number)} for number in numbers]
        return JSONResponse({"examples": examples, **self._decisions()})


def _found(error: ShardkitError | None, found: Found | None) -> Found:
    if found is None:
        raise error or AssertionError
    return found


def _number(request: Request, num: int) -> int:
    """Return the number in an address, which is below `num`; any other text is an address that does not exist."""
    text = request.path_params["number"]
    if not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS and int(text) < num):
        raise HTTPException(404, f"there is no such number; there are {num:,}, from 0")
    return int(text)


def _part(request: Request) -> slice:
    """Return the rows that a request asks for, at most _MOST_ROWS."""
    start, count = (request.query_params.get(name, "") for name in ("start", "count"))
    if not all(one.isascii() and one.isdigit() and len(one) < _MOST_DIGITS for one in (start, count)):
        raise CallError("rows are asked for by start and count, whole numbers")
    return slice(int(start), int(start) + min(int(count), _MOST_ROWS))


def _answer(make: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Response]:
    """Return the route of a function; in a thread, because it is no coroutine."""

    def route(request: Request) -> Response:
        try:
            return JSONResponse(make(request))
        except ShardkitError as error:
            return _failed(error)

    return route


def _failed(error: ShardkitError) -> Response:
    return JSONResponse({"error": str(error)}, 400)


def _file(content: bytes, kind: str) -> Callable[[Request], Awaitable[Response]]:
    async def route(_: Request) -> Response:
        return Response(content, media_type=kind)

    return route
