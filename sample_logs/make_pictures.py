"""Makes the pictures of the README from the sample data: `python make_pictures.py` in this folder.

Needs Chromium (Debian's package of that name) and the extra `dev`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
PICTURES = FOLDER / "pictures"
WIDTH = 960
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")

# Name of the picture, and what of the page is on it: a selector, or the caption of a figure.
PARTS = {
    "head": "header",
    "traffic": "figure:has(figcaption:text('frames are the profiles'))",
    "latency": "figure:has(figcaption:text-matches('^Profile 0'))",
    "performance": "figure:has(figcaption:text('sweet spot'))",
    "comparison": "figure:has(figcaption:text-matches('^Recommended set'))",
    "differences": "figure:has(figcaption:text-matches('^Against'))",
    "search": "figure:has(figcaption:text-matches('chosen'))",
}


def write_report(folder: Path) -> Path:
    """The report on the sample, made as a user would make it."""
    for file in FOLDER.iterdir():
        if file.suffix in (".parquet", ".toml"):
            shutil.copy(file, folder)
    command = [
        sys.executable,
        "-m",
        "tuner",
        "recommend",
        "--logs",
        "prod.parquet",
        "--report",
        "report.html",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "report.html"


def take_pictures(page_file: Path) -> None:
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or "/usr/bin/chromium"
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page(viewport={"width": WIDTH, "height": 900})
        page.goto(page_file.as_uri())
        page.wait_for_selector("body[data-drawn]")
        # The tables are in the page; on a picture they would hide the charts.
        page.add_style_tag(content="details { display: none }")
        for name, selector in PARTS.items():
            page.locator(selector).first.screenshot(path=PICTURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        take_pictures(write_report(Path(work)))
