"""App: the pages of the desk, step by step; each shows the command that does the same."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import click
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from privsieve.errors import PrivsieveError
from privsieve.extras.desk import columns, pages
from privsieve.extras.desk.guard import Guard
from privsieve.extras.desk.state import DOMAIN, INSPECTION, LEDGER, STATE, Choices, Desk, Ran
from privsieve.extras.desk.verbs import (
    command_words,
    outcome_of,
    plan_words,
    python_lines,
    table,
)
from privsieve.folder import CERTIFICATE, RELEASE
from privsieve.public.canonical import exact, factor
from privsieve.public.domain import Domain

#: The largest form.
_LARGEST = 4_000_000
_OLD = "your choices changed after this page was opened; read the price again"
#: What a release file may load: it has its own style in it, and no script.
_ALONE = {"content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
#: The fields of the button that charges.
_OF_CHARGE = ("request", "out", "epsilon")
Fields = Mapping[str, str]


def desk_app(folder: Path, token: str, port: int) -> Guard:
    """Return the application of a desk."""
    road = Road(Desk(folder))
    routes = [
        *(Route(f"/{step}", answering(getattr(road, step))) for step in pages.STEPS),
        *(Route(f"/{name}", answering(getattr(road, name)), methods=["POST"])
          for name in ("choose", "save", "look", "decide", "price", "grant", "release", "recover")),
        Route("/files/{folder}/{name}", answering(road.files)),
        Route("/zip/{folder}", answering(road.zip)),
        Route("/style.css", answering(lambda _: Response(pages.style(), media_type="text/css"))),
    ]
    return Guard(Starlette(routes=routes), token, port)


def answering(handler: Callable[[Fields], Response]) -> Callable[[Request], Any]:
    """Return an endpoint that reads a form and answers in a thread."""
    async def endpoint(request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LARGEST:
                return PlainTextResponse("the form is too large", 413)
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        fields = {**request.query_params, **dict(pairs), **request.path_params}
        return await run_in_threadpool(handler, fields)

    return endpoint


def go(step: str, **query: str) -> Response:
    """Return the way to a page."""
    return RedirectResponse(f"/{step}{'?' * bool(query)}{urlencode(query)}", 303)


class Road:
    """The five steps, and the actions of their buttons."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    # --- file ------------------------------------------------------------------------------------

    def file(self, fields: Fields) -> Response:
        """Show the tables of the folder."""
        tables, choices = self.desk.tables(), self.desk.choices
        ask = pages.form("/choose", [pages.radios(
            "file", dict(zip(tables, tables, strict=True)), choices.file, "Tables in this folder")],
            "Use this table") if tables else pages.paragraph(
                f"The folder {self.desk.folder.name} has no table. Put a CSV, Parquet or Excel "
                "file (.xlsx) into it and load this page again.")
        return self._page("file", [
            pages.wrong(fields.get("error", "")),
            pages.paragraph("Choose the table. The desk now reads only its header. It first saves "
                            "the first sheet of an Excel file as a CSV file in this folder."), ask])

    def choose(self, fields: Fields) -> Response:
        """Choose a table of the folder."""
        file = fields.get("file", "")
        if file not in self.desk.tables():
            return self.file({"error": "choose a table of this folder"})
        if file.lower().endswith(".xlsx"):
            try:
                file = columns.save_sheet(self.desk, file)
            except PrivsieveError as error:
                return self.file({"error": str(error)})
        if file != self.desk.choices.file:
            self.desk.choose(file=file, roles={}, groups={}, request="", out="")
            (self.desk.folder / INSPECTION).unlink(missing_ok=True)
        return go("columns")

    # --- columns ---------------------------------------------------------------------------------

    def columns(self, fields: Fields, form: columns.TableForm | None = None) -> Response:
        """Show the columns as the domain file declares them, or as their names propose."""
        choices = self.desk.choices
        if choices.file not in self.desk.tables():
            return go("file")
        try:
            form = form or columns.form_of(self.desk.folder, choices.file)
        except PrivsieveError as error:
            return self.file({"error": str(error)})
        looked, verdicts = self._inspection()
        saved = (self.desk.folder / DOMAIN).is_file()
        commands = [["domain", choices.file, "--out", DOMAIN],
                    ["inspect", choices.file, "--domain", DOMAIN, "--private-output", INSPECTION]]
        if len(form.rows) > pages.MOST_COLUMNS:
            body = [pages.paragraph(
                f"This table has {len(form.rows):,} columns. Write {DOMAIN} with the command, "
                "correct it in an editor, and go on."), pages.form("/save", [], "Go on")]
        else:
            body = [pages.form("/save", pages.columns_fields(form, verdicts), "Save the columns")]
        look = pages.form("/look", [], "Inspect the rows (PRIVATE)") if saved else ""
        return self._page("columns", [
            pages.wrong(fields.get("error", "")),
            pages.right(looked) if looked.startswith("fine") else pages.wrong(looked), *body, look,
            pages.ways(commands, [f'domain = ps.Domain.from_toml("{DOMAIN}")'])],
            private=bool(verdicts))

    def save(self, fields: Fields) -> Response:
        """Write the domain file; a wrong form comes back as it was filled in."""
        choices = self.desk.choices
        form = None
        try:
            known = columns.form_of(self.desk.folder, choices.file)
            if len(known.rows) > pages.MOST_COLUMNS:
                Domain.from_toml(self.desk.folder / DOMAIN)
                return go("aim")
            form = columns.filled(known, fields)
            text = columns.text_of(form)
        except (PrivsieveError, OSError) as error:
            return self.columns({"error": str(error)}, form)
        self.desk.write(DOMAIN, text.encode())
        (self.desk.folder / INSPECTION).unlink(missing_ok=True)
        return go("aim")

    def look(self, fields: Fields) -> Response:
        """Inspect the rows; the answer is private."""
        del fields
        with self.desk.lock:
            (self.desk.folder / INSPECTION).unlink(missing_ok=True)
            done = self.desk.run(["inspect", table(self.desk.choices.file), "--domain", DOMAIN,
                                  "--private-output", INSPECTION])
        return self.columns({"error": done.error}) if done.code else go("columns")

    def _inspection(self) -> tuple[str, dict[str, str]]:
        """Return the verdict of an inspection on the file, and on each column.  PRIVATE."""
        facts = self.desk.facts(INSPECTION)
        try:
            return "\n".join([_verdict(facts), *map(str, facts["write"])]), {
                each["name"]: ". ".join([_verdict(each), *each["fixes"]])
                for each in facts["columns"]}
        except (LookupError, TypeError):
            return "", {}

    # --- aim -------------------------------------------------------------------------------------

    def aim(self, fields: Fields) -> Response:
        """Ask for the kind of release, and the number of columns."""
        choices, domain = self.desk.choices, self._domain()
        if domain is None:
            return go("columns")
        few = domain.names[:pages.MOST_COLUMNS]
        return self._page("aim", [
            pages.wrong(fields.get("error", "")),
            pages.form("/decide", [
                pages.radios("purpose", {
                    "names": "names of columns, for researchers (differential privacy, costs "
                             "epsilon)",
                    "table": "a table of yes/no columns that may be published (k-anonymity by "
                             "containment, no epsilon)"}, choices.purpose, "What to release"),
                pages.fieldset("How many", [
                    pages.entry("count", "number of names", choices.count),
                    pages.entry("k", "rows in the smallest group of a table", choices.k),
                    pages.choice("profile", {"few": "few", "most": "most", "strict": "strict"},
                                 choices.profile, label="profile of the table")]),
                pages.fieldset("Columns", [pages.table(("column", "role", "group"), [
                    [pages.name(name),
                     pages.choice(f"role-{at}", {
                         "": "may be chosen", "always": "always (names)",
                         "never": "never", "sensitive": "sensitive (table)"},
                         choices.roles.get(name, ""), spoken=f"role of {name}"),
                     Markup('<input name="group-{}" value="{}" aria-label="group of {}">'
                                  ).format(at, choices.groups.get(name, ""), name)]
                    for at, name in enumerate(few)])])], "Go on to the cost")])

    def decide(self, fields: Fields) -> Response:
        """Save the purpose and the settings of the release."""
        domain = self._domain()
        if domain is None:
            return go("columns")
        names = domain.names[:pages.MOST_COLUMNS]
        purpose = fields.get("purpose", "names")
        self.desk.choose(
            purpose=purpose if purpose in ("names", "table") else "names",
            count=fields.get("count", "").strip(), k=fields.get("k", "").strip(),
            profile=fields.get("profile", "few"), epsilon="",
            roles={name: role for at, name in enumerate(names)
                   if (role := fields.get(f"role-{at}", ""))},
            groups={name: group for at, name in enumerate(names)
                    if (group := fields.get(f"group-{at}", "").strip())})
        return go("cost")

    # --- cost ------------------------------------------------------------------------------------

    def cost(self, fields: Fields) -> Response:
        """Show what each epsilon buys, what is left, and the price of the next release."""
        domain = self._domain()
        if domain is None:
            return go("columns")
        choices = self.desk.next_request()
        refused = pages.wrong(fields.get("error", ""))
        if choices.purpose == "table":
            words = command_words(choices)
            return self._page("cost", [
                refused, pages.paragraph(
                    "A publication costs no epsilon. Its promise is k-anonymity by containment: "
                    f"every row is in a group of at least {choices.k} rows that match all that an "
                    "attacker may know."),
                pages.form("/release", self._request(choices), "Publish this table"),
                pages.ways([words])])
        parts: list[str] = [refused]
        try:
            text = outcome_of(plan_words(choices, self.desk.folder, epsilon=False))
            # Its last part says how to go on in a terminal.
            parts.append(pages.document(replace(text, parts=text.parts[:-1])))
        except (PrivsieveError, click.ClickException) as error:
            parts.append(pages.wrong(error))
        parts.append(pages.form("/price", [pages.fieldset("The price", [
            pages.entry("epsilon", "epsilon of this release", choices.epsilon),
            pages.entry("population", "name of the people in the table", choices.population,
                        short=False)])], "Show this price"))
        commands = [plan_words(choices, None, epsilon=False)]
        if choices.epsilon and choices.population:
            parts += self._pay(choices, domain.unit)
            commands = [plan_words(choices, None), command_words(choices)]
        return self._page("cost", [*parts, pages.ways(commands, python_lines(choices))])

    def _pay(self, choices: Choices, unit: str) -> list[str]:
        """Return the plan, the state of the ledger, and the button that names the price."""
        kept = self.desk.run(["ledger", "show", "--ledger", LEDGER,
                              f"--population={choices.population}"])
        if kept.code or not kept.facts:
            grant = ["ledger", "grant", "--ledger", LEDGER, "--population", choices.population]
            return [pages.form("/grant", [
                pages.paragraph(f"{choices.population} has no budget yet. The budget is the most "
                                "that all releases about these people may cost together. It is "
                                "granted once."),
                pages.entry("budget", "budget in epsilon", "2")], "Grant this budget"),
                pages.ways([[*grant, "--epsilon", "2"]])]
        try:
            words = [*plan_words(choices, self.desk.folder), "--ledger",
                     str(self.desk.folder / LEDGER), f"--population={choices.population}"]
            plan = outcome_of(words)
            odds = factor(exact(choices.epsilon, "epsilon"))
        except (PrivsieveError, click.ClickException) as error:
            return [pages.wrong(error)]
        anyway = Markup('<label><input type="checkbox" name="anyway" value="yes"> continue '
                              "despite a warning of the forecast</label>")
        return [pages.document(plan), pages.form(
            "/release", [*self._request(choices), pages.paragraph(
                f"Epsilon {choices.epsilon}: the release can change an attacker's odds about one "
                f"{unit} by a factor of at most {odds}. privsieve charges the budget before it "
                "reads rows, and never gives it back."), anyway],
            f"Pay epsilon {choices.epsilon} and choose {choices.count} columns")]

    def price(self, fields: Fields) -> Response:
        """Save the epsilon and the population."""
        self.desk.choose(epsilon=fields.get("epsilon", "").strip(),
                         population=fields.get("population", "").strip())
        return go("cost")

    def grant(self, fields: Fields) -> Response:
        """Grant the population its budget."""
        choices = self.desk.choices
        with self.desk.lock:
            done = self.desk.run(["ledger", "grant", "--ledger", LEDGER,
                                  f"--population={choices.population}",
                                  f"--epsilon={fields.get('budget', '')}"])
        return self.cost({"error": done.error}) if done.code else go("cost")

    # --- result ----------------------------------------------------------------------------------

    def release(self, fields: Fields) -> Response:
        """Charge and release, once for each request."""
        with self.desk.lock:
            choices = self.desk.choices
            if fields.get("out") in self.desk.releases():  # a second click, or a reload
                return go("result", release=fields["out"])
            if any(fields.get(name) != getattr(choices, name)
                   for name in _OF_CHARGE):
                return self.cost({"error": _OLD})
            anyway = ["--anyway"] * bool(fields.get("anyway"))
            done = self.desk.run([*command_words(choices), *anyway])
        if done.code and choices.out not in self.desk.releases():
            return self.result({"error": done.error}) if choices.out in self.desk.unfinished() \
                else self.cost({"error": done.error})
        return go("result", release=choices.out)

    def result(self, fields: Fields) -> Response:
        """Show a release, its verification, and the files that you may send."""
        parts: list[str] = [pages.wrong(fields.get("error", ""))]
        parts += [pages.form("/recover", [
            pages.hidden("folder", folder), pages.paragraph(
                f"{folder} was interrupted after its charge. Finishing it costs nothing.")],
            f"Finish {folder}") for folder in self.desk.unfinished()]
        releases = self.desk.releases()
        folder = fields.get("release", "")
        folder = folder if folder in releases else next(iter(releases), "")
        if not folder:
            return self._page("result", [*parts, pages.paragraph("Nothing is released yet.")])
        others = [Markup('<a href="/result?release={}">{}</a>').format(quote(name), name)
                  for name in releases if name != folder]
        return self._page("result", [*parts, *self._released(folder), *([Markup(
            "<p>Earlier releases: {}</p>").format(Markup(", ").join(others))]
            if others else [])], title=f"Result: {folder}")

    def _released(self, folder: str) -> list[str]:
        place = self.desk.folder / folder
        body, certificate = (self.desk.facts(folder, name) for name in (RELEASE, CERTIFICATE))
        ledger = ["--ledger", LEDGER] if (self.desk.folder / LEDGER).is_file() and (
            certificate.get("ledger")) else []
        words = ["verify", folder, *ledger]
        checked: Ran = self.desk.run(words)
        valid = checked.facts.get("valid") is True
        notes = [str(each) for each in (checked.facts.get("reasons") or []) + (
            checked.facts.get("notes") or [])]
        verdict = pages.right("Valid: privsieve verify found nothing wrong.") if valid else (
            pages.wrong(f"Not valid: {checked.error}"))
        files = sorted(path.name for path in place.iterdir() if path.is_file())
        links = [Markup('<a href="/files/{}/{}">{}</a>').format(quote(folder), quote(name), name)
                 for name in files if not name.startswith(".")]
        return [
            verdict, pages.items("Released", map(pages.name, map(str, body.get("selected", [])))),
            pages.items("Notes", notes), pages.items("What you may send", links, Markup(
                "<p>You may send this folder as a whole, after the person responsible for the "
                'table has signed the form in the report: <a href="/zip/{}">{}.zip</a>. Keep the '
                "table, {}, {} and {} here.</p>").format(quote(folder), folder, LEDGER, INSPECTION,
                                                         STATE)), pages.ways([words])]

    def recover(self, fields: Fields) -> Response:
        """Finish an interrupted release; this costs nothing."""
        folder = fields.get("folder", "")
        if folder not in self.desk.unfinished():
            return go("result")
        with self.desk.lock:
            done = self.desk.run(["recover", folder])
        return self.result({"error": done.error}) if done.code else go("result", release=folder)

    def files(self, fields: Fields) -> Response:
        """Send a file of a release."""
        path = self.desk.path(fields["folder"], fields["name"])
        if path is None:
            return PlainTextResponse("the desk has no such file", 404)
        kind = {".html": "text/html", ".json": "application/json"}.get(path.suffix, "text/plain")
        return Response(path.read_bytes(), headers=_ALONE, media_type=kind)

    def zip(self, fields: Fields) -> Response:
        """Send a release folder as one file."""
        folder, data = fields["folder"], io.BytesIO()
        if folder not in self.desk.releases():
            return PlainTextResponse("the desk has no such release", 404)
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((self.desk.folder / folder).iterdir()):
                if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
                    archive.writestr(f"{folder}/{path.name}", path.read_bytes())
        return Response(data.getvalue(), media_type="application/zip", headers={
            "content-disposition": f'attachment; filename="{folder}.zip"'})

    # --- what they share -------------------------------------------------------------------------

    def _page(self, step: str, parts: Sequence[str], **options: Any) -> Response:
        return HTMLResponse(pages.page(step, [section for section in parts if section],
                                       file=self.desk.choices.file, **options))

    def _domain(self) -> Domain | None:
        """Return the saved domain; None if there is none yet."""
        try:
            return Domain.from_toml(self.desk.folder / DOMAIN) if (
                self.desk.choices.file in self.desk.tables()) else None
        except (PrivsieveError, OSError):
            return None

    def _request(self, choices: Choices) -> list[str]:
        return [pages.hidden(name, getattr(choices, name)) for name in _OF_CHARGE]


def _verdict(facts: Mapping[str, Any]) -> str:
    """Return the verdict of an inspection, with its reason if it has one.  PRIVATE."""
    return ": ".join(dict.fromkeys((str(facts["verdict"]), str(facts["said"]))))
