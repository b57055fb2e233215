"""Make the pictures of `docs/reports.md`: each report, with numbers that notes below it explain.

The command line makes every release from a made-up table.  The noise is real, so names and figures
differ from run to run.  Chromium takes the pictures: `make pictures`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from io import BytesIO
from pathlib import Path

from PIL import Image
from selenium import webdriver

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: The table, its two domain files, and the releases.
TABLES = ROOT / "examples" / "made_up.py"
DOMAINS = ("domain.toml", "cost.toml")
PAID = "--ledger budget.db --population clinic-2026"
CUT = ("--target readmitted -k 20 --without patient,died,cost,weekday --cut age=40,65,80 "
       "--cut stay=3,7 --cut bmi=20,25,30")
COMMANDS = (
    "ledger grant --ledger budget.db --population clinic-2026 --epsilon 9 --unit row",
    f"select hospital.csv --domain domain.toml --epsilon 1 --top 2 {PAID} --out selection",
    (f"select hospital.csv --domain domain.toml --epsilon 2 {PAID} --out weights "
     "--top 2 --method output-fwell"),
    f"regress hospital.csv --domain cost.toml --kernel linear --epsilon 2 {PAID} --out model",
    f"synthesize hospital.csv --domain domain.toml --epsilon 1 --top 1 --rows 9 {PAID} --out table",
    f"publish hospital.csv --publish-target {CUT} --out columns --internal-report internal.html",
    f"explore hospital.csv {CUT} --out explored.html",
)
#: What each picture shows: a title, its page, a sentence, and notes.
PICTURES = tomllib.loads((HERE / "notes.toml").read_text(encoding="utf-8"))
WIDE, HIGHEST = 900, 1500
#: The heading of the page after the pictures.
AFTER = "## Details\n"
#: Numbers beside the elements, at the left edge.
MARK = """
document.body.style.paddingLeft = '34px';
document.documentElement.style.background = '#fff';
const tops = arguments[0].map(([what, at]) =>
    document.querySelectorAll(what)[at].getBoundingClientRect().top + scrollY);
for (const [at, top] of tops.entries()) {
    const dot = document.createElement('div');
    dot.textContent = at + 1;
    dot.style.cssText = `position:absolute;left:6px;top:${top}px;width:26px;height:26px;`
        + 'border-radius:13px;background:#0b5a9d;color:#fff;text-align:center;'
        + 'font:bold 16px/26px sans-serif';
    document.body.append(dot);
}
const last = arguments[0].at(-1);
return document.querySelectorAll(last[0])[last[1]].getBoundingClientRect().bottom + scrollY;
"""


def releases(folder: Path) -> None:
    """Make every release of the pictures."""
    for name in DOMAINS:
        shutil.copy(HERE / name, folder)
    subprocess.run([sys.executable, TABLES, "hospital"], cwd=folder, check=True)  # noqa: S603
    for command in COMMANDS:
        print("·", command)
        subprocess.run([sys.executable, "-m", "privsieve", *shlex.split(command)],  # noqa: S603
                       cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "PYTHONPATH": str(ROOT / "src")})


def browser():
    """Headless Chromium that can reach nothing."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for switch in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars",
                   "host-resolver-rules=MAP * ~NOTFOUND"):
        options.add_argument(f"--{switch}")
    return webdriver.Chrome(options=options,
                            service=webdriver.ChromeService(shutil.which("chromedriver")))


def taken(driver, page: Path, notes: list) -> bytes:
    """The picture of a page down to its last note, in few colours."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": WIDE, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    driver.get(page.as_uri())
    bottom = driver.execute_script(MARK, [note[:2] for note in notes])
    high = int(min(bottom + 12, HIGHEST))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": WIDE, "height": high, "deviceScaleFactor": 1, "mobile": False})
    picture, out = Image.open(BytesIO(driver.get_screenshot_as_png())).convert("RGB"), BytesIO()
    picture.quantize(32, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    """Write the pictures, and their part of the page."""
    parts = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        releases(folder)
        driver = browser()
        try:
            for name, entry in PICTURES.items():
                data = taken(driver, folder / entry["page"], entry["notes"])
                (HERE / f"{name}.png").write_bytes(data)
                print(f"{name}.png", len(data))
                parts.append(f"## {entry['title']}\n\n{entry['words']}\n\n"
                             f"![The numbered beginning of the page](pictures/{name}.png)\n")
                parts.append("\n".join(f"{at}. {note}" for at, (*_, note) in enumerate(
                    entry["notes"], 1)) + "\n")
        finally:
            driver.quit()
    page = ROOT / "docs" / "reports.md"
    text = page.read_text(encoding="utf-8")
    head = text.partition(parts[0].partition("\n")[0])[0]
    page.write_text("\n".join([head.rstrip("\n") + "\n", *parts, AFTER + text.partition(AFTER)[2]]),
                    encoding="utf-8")


if __name__ == "__main__":
    main()
