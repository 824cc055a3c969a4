"""Draw the picture of a report in README.md: the top of the page about the samples, in headless Chromium.

Run `python sample_data/draw_report.py` after a change of the page. It needs `pip install '.[test]'` and Chromium, which
tests/report/install_chromium.sh installs.
"""

import shutil
import tempfile
from pathlib import Path

from shardkit.cli import main

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1120, 1400  # CSS pixels of the part that is drawn
COLOURS = 128  # of the palette: the picture stays below 200 kB
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def draw() -> None:
    """Convert the samples, report on them, and write `report.png` in this folder."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        dataset, page_path, drawn = (Path(folder) / name for name in ("coco", "report.html", "page.png"))
        main(["convert", str(HERE / "coco"), str(dataset), "--quiet"], standalone_mode=False)
        main(["report", str(dataset), "-o", str(page_path), "--training-size", "64"], standalone_mode=False)
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_path.as_uri())
        # The folder of the samples is where this script happens to make them.
        page.locator(".place").evaluate("one => { one.textContent = 'OUT'; }")
        page.screenshot(path=str(drawn))
        browser.close()
        Image.open(drawn).convert("RGB").quantize(COLOURS).save(HERE / "report.png", optimize=True)


if __name__ == "__main__":
    draw()
