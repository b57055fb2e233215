"""Laws: bridges.  What sdcMicro and ARX are given says what we count, and says it safely."""

from __future__ import annotations

import csv
import json
import os
import re
import stat

import numpy as np
import pytest

from arx_folder import read_arx
from bridge_tables import (
    CUTS,
    HOSTILE,
    SHOWN,
    java,
    labelled,
    loops_k,
    pandas_k,
    random_table,
    rows_of,
    rscript,
    write_csv,
)
from privsieve.cli import run
from privsieve.containment.labelled import Labelled, Roles
from privsieve.containment.limits import Limits
from privsieve.errors import CheckFailed, ParameterError, SchemaError
from privsieve.extras.bridges.arx import Settings, arx, hierarchy_of, java_string, written
from privsieve.extras.bridges.sdcmicro import r_string, sdcmicro
from privsieve.extras.bridges.table import Variable, exported, grouped, write_folder
from privsieve.public.columns import Category, Label, Number
from privsieve.public.domain import Csv, Domain
from privsieve.public.domain_file import parse
from privsieve.rows.items import Reading, items_of, table_of

#: What R says: the smallest group, all rows, and those in groups below k.
BASE = re.compile(r"smallest group, base R: (\d+) of (\d+) rows; (\d+) rows in")
#: Prints each literal of a Java file, and fails where javac's parser finds an error.
PARSE = """
import com.sun.source.tree.*;
import com.sun.source.util.*;
import javax.tools.*;
import java.nio.file.*;
import java.util.*;

public class Parse {
    public static void main(String[] args) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
        StandardJavaFileManager files = compiler.getStandardFileManager(said, null, null);
        JavacTask task = (JavacTask) compiler.getTask(null, files, said, List.of("-proc:none"),
                null, files.getJavaFileObjects(Paths.get(args[0])));
        for (CompilationUnitTree unit : task.parse()) {
            new TreeScanner<Void, Void>() {
                @Override public Void visitLiteral(LiteralTree tree, Void none) {
                    if (tree.getValue() instanceof String) {
                        System.out.println("literal " + tree.getValue());
                    }
                    return null;
                }
                @Override public Void visitMethod(MethodTree tree, Void none) {
                    System.out.println("method " + tree.getName());
                    return super.visitMethod(tree, none);
                }
            }.scan(unit, null);
        }
        for (Diagnostic<?> one : said.getDiagnostics()) {
            System.err.println(one);
            System.exit(1);
        }
    }
}
"""


def hostile(tmp_path):
    """A table whose names and levels would break out of whatever does not quote them."""
    rows = [[SHOWN[(7 * row + 3 * at) % len(SHOWN)] for at in range(len(HOSTILE))] + ["ny"[row % 2]]
            for row in range(40)]
    path = write_csv(tmp_path / "hostile.csv", [[*HOSTILE, "ill"], *rows])
    roles = Roles(both=tuple(HOSTILE[:-2]), sensitive=tuple(HOSTILE[-2:]), target="ill")
    table = labelled(path, HOSTILE[:-2], columns=HOSTILE[:-2])
    return exported(path, table, roles, 5)


def said_by_r(counts):
    """What R has to say of an export."""
    return str(counts.level), str(counts.rows), str(counts.below)


def of_arx(folder):
    """For each key variable of an export its hierarchy, and the level where k is counted."""
    settings = json.loads((folder / "settings.json").read_text())
    return {key["name"]: (key["file"], key["lowest"]) for key in settings["keys"]}


@pytest.mark.parametrize("seed", range(4))
def test_every_counter_finds_our_k(tmp_path, seed):
    """Our k of a table is what pandas counts on its raw cells, and R, loops and our reader find."""
    path, table, roles = random_table(tmp_path, seed, target_known=seed % 2 == 1)
    known = [*roles.presences, *roles.both]
    export = exported(path, table, roles, 5)
    write_folder(tmp_path / "arx", arx(export))
    write_folder(tmp_path / "sdc", sdcmicro(export, by_path=seed % 3 == 0))

    ours = export.level, export.below
    assert ours == pandas_k(path, [*known, *(["ill"] if roles.target_known else [])], 5, CUTS)
    assert ours == loops_k(tmp_path / "arx", of_arx(tmp_path / "arx"), 5)
    assert export.level == read_arx(tmp_path / "arx").settings.level
    _, output, _ = rscript("sdc.R", cwd=tmp_path / "sdc")
    assert [said_by_r(export)] == BASE.findall(output)


def test_a_parquet_file_is_exported_as_its_lines(tmp_path):
    """Numbers that are stored as such are the levels that their texts are."""
    pd = pytest.importorskip("pandas")
    path, table, roles = random_table(tmp_path, 1, target_known=False)
    pd.read_csv(path, keep_default_na=False).to_parquet(tmp_path / "t.parquet")
    lines, stored = (exported(single_path, table, roles, 5)
                     for single_path in (path, tmp_path / "t.parquet"))

    assert (lines.level, lines.below) == (stored.level, stored.below)


def test_r_reads_hostile_names_as_they_are(tmp_path):
    """No name or level is code: R parses the script, and gives back the names and the count."""
    actual_script = hostile(tmp_path)
    write_folder(tmp_path / "sdc", sdcmicro(actual_script))
    script = (tmp_path / "sdc" / "sdc.R").read_bytes()
    assert script.isascii()
    parsed = rscript(
        "-e", "e <- parse('sdc.R'); at <- which(vapply(e, function(x) identical(x[[2]],"
                     " quote(columns)), NA))[1]; Sys.setlocale('LC_CTYPE', 'C.UTF-8');"
                     " for (n in enc2utf8(eval(e[[at]][[3]]))) cat('<', n, '>\n', sep = '')",
                     cwd=tmp_path / "sdc")[1]

    assert [*HOSTILE, "ill"] == re.findall("^<(.*)>$", parsed, re.MULTILINE)
    code, output, wrong = rscript("sdc.R", cwd=tmp_path / "sdc", env={**os.environ, "LC_ALL": "C"})
    assert (1, [said_by_r(actual_script)]) == (code, BASE.findall(output))
    assert "the next steps need sdcMicro" in wrong


@pytest.mark.parametrize(("encoding", "mark", "header"), [
    ("cp1252", b"", True), ("utf-8", b"\xef\xbb\xbf", True), ("utf-8", b"", False),
    ("latin-1", b"", True)])
def test_r_reads_the_file_as_we_do(tmp_path, encoding, mark, header):
    """R counts our k in a file in any format; and refuses a line that we skip."""
    cells = ['"say ""ü"", a;b"', "é", "é"]
    lines = ["größe;ödeme;ill"] * header + [f"{row % 7},5;{cells[row % 3]};{'ny'[row % 2]}"
                                            for row in range(90)]
    names = lines[0].split(";") if header else ["c1", "c2", "c3"]
    domain = Domain([Number(names[0], 0, 10), Category(names[1], ["é", 'say "ü", a;b'])],
                    target=Label(names[2], ["n", "y"]), csv=Csv(";", ",", encoding, header))
    roles, known = Roles(both=tuple(names[:2]), target=names[2]), names[:2]
    path = tmp_path / "t.csv"
    for at, rows in enumerate(([], ["3,5", "2,5", "1,5"])):
        path.write_bytes(mark + "\r\n".join([*lines, *rows, ""]).encode(encoding))
        items, _, _ = items_of(str(path), domain=Domain(domain.columns, csv=domain.csv),
                               columns=known)
        export = exported(path, Labelled(items, np.zeros(items.rows, np.int32), (None,)), roles, 3,
                          domain)
        write_folder(tmp_path / f"sdc{at}", sdcmicro(export, by_path=True))
        _, output, wrong = rscript("sdc.R", cwd=tmp_path / f"sdc{at}")

        assert ([] if rows else [said_by_r(export)]) == BASE.findall(output)
        assert ("differently from privsieve" in wrong) == bool(rows)


def test_javac_parses_hostile_names_as_they_are(tmp_path):
    """No name is code: javac's parser finds no error, our three methods, and each name whole."""
    names = hostile(tmp_path)
    limits = Limits.of(distinct=2, entropy="1.5", closeness="0.4", share="0.9")
    write_folder(tmp_path / "arx", arx(names, limits))
    (tmp_path / "Parse.java").write_text(PARSE)
    text = java(tmp_path / "Parse.java", tmp_path / "arx" / "Anonymize.java")

    methods = re.findall("^method ([a-z]+)$", text, re.MULTILINE)
    assert ["main", "known", "save"] == methods
    assert {*HOSTILE, "ill"} <= set(re.findall("^literal (.*)$", text, re.MULTILINE))


def test_strings_are_ascii():
    """A string of R or Java is printable ASCII, whatever the text, and ends where it began."""
    text = "".join(map(chr, [*range(1, 0x180), 0x2028, 0x202E, 0xFEFF, 0x1F600]))
    for quoted in (r_string(text), java_string(text)):
        inner = re.sub(r"\\.", "", quoted[1:-1])

        assert quoted.isascii()
        assert quoted.isprintable()
        assert ('"', '"', False) == (quoted[0], quoted[-1], '"' in inner)


def test_a_hierarchy_begins_with_the_cell_and_grows():
    """Numbers go over our intervals to larger ones; what is missing is apart until the end."""
    path_rows = [[str(age), ward] for age, ward in
                 [(17, "A"), (18, "B"), (40, ""), (64, "A"), (65, "B"), (90, "B")]] + [["", "A"]]
    items, _, _ = items_of(path_rows, columns={"x0": [18, 40, 65], "x1": None})
    columns = []
    for at, name in enumerate(("x0", "x1")):
        cells = tuple(dict.fromkeys(row[at] for row in path_rows))
        codes = [cells.index(row[at]) for row in path_rows]
        codes = np.array(codes, np.int32)
        columns.append(Variable(name, "known", codes, grouped(name, cells, codes, items)))

    assert (("17", "<18", "<40", "*"), ("18", "18..40", "<40", "*"), ("40", "40..65", ">=40", "*"),
            ("64", "40..65", ">=40", "*"), ("65", ">=65", ">=40", "*"),
            ("90", ">=65", ">=40", "*"), ("missing", "missing", "missing", "*")
            ) == hierarchy_of(columns[0], 1).lines
    assert (("A", "A", "*"), ("B", "B", "*"), ("missing", "missing", "*")) == hierarchy_of(
        columns[1], 2).lines
    key = hierarchy_of(columns[0], 1).key
    assert (1, 3) == (key.lowest, key.highest)


def test_spellings_of_flags_keep_our_groups(tmp_path):
    """Cells of the same items are one group, however spelled: a missing flag is a no."""
    rows = [["age", "smoker", "ill"], ["10", "yes", "n"], ["20", "Y", "y"], ["70", "", "n"],
            ["", "no", "y"], ["30", "1", "n"]]
    path = write_csv(tmp_path / "t.csv", rows)
    table = labelled(path, ("age", "smoker"), columns={"age": [18, 65], "smoker": None})
    export = exported(path, table, Roles(both=("age", "smoker"), target="ill"), 1)
    age, smoker = export.of("known")

    assert ("<18", "18..65", ">=65", "missing") == age.levels.labels
    assert ("no", "1") == smoker.levels.labels
    assert [1, 1, 0, 0, 1] == [smoker.levels.group[code] for code in smoker.codes.tolist()]
    assert 1 == export.level


def test_what_is_read_is_what_was_written(tmp_path):
    """The reader of an export gives back settings and hierarchies, equal to those written."""
    for seed in range(4):
        path, table, roles = random_table(tmp_path, seed, target_known=seed > 1)
        export = exported(path, table, roles, 3)
        files = arx(export, Limits.of(distinct=2, entropy="1.5", closeness="0.25"))
        write_folder(tmp_path / f"arx{seed}", files)
        read = read_arx(tmp_path / f"arx{seed}")

        assert files["settings.json"] == written(read.settings)
        assert tuple(hierarchy_of(column, at) for at, column in enumerate(export.columns, 1)
                     if column.role == "known") == read.hierarchies
        assert isinstance(read.settings, Settings)


#: An edit of one file of an export, and what the reader says of it.
EDITS = {
    "a value without a line": ("hierarchies/v3_ward.csv", r"\AA;.*\n", "", "has no line for"),
    "a line twice": ("hierarchies/v3_ward.csv", r"\A(A;.*\n)", r"\1\1", "two lines"),
    "levels that cross": ("hierarchies/v1_age.csv", r"\A(\d+;<30);<50", r"\1;>=50", "torn apart"),
    "a line without an end": ("hierarchies/v3_ward.csv", r"\A(A;.*);\*\n", r"\1;A\n", "end in"),
    "another level": ("settings.json", r'"level": \d+', '"level": 77', "says 77"),
    "a lost row": ("data.csv", r"\n[^\n]*\n\Z", "\n", "rows"),
    "another format": ("settings.json", "privsieve-arx/1", "privsieve-arx/9", "another format"),
    "no settings": ("settings.json", r"(?s).*", "[]", "cannot be read as settings"),
    "no levels": ("settings.json", r'"lowest": 1', '"lowest": 9', "no such levels"),
    "no column": ("data.csv", r"\Aage", "Age", "no column"),
    "no data": ("data.csv", r"(?s).*", "", "cannot be read as a table"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_export_is_refused(tmp_path, name):
    """A folder for ARX that was edited is refused, with the file and the reason."""
    file, pattern, text, full_text = EDITS[name]
    path, table, roles = random_table(tmp_path, 3, target_known=False)
    write_folder(tmp_path / "arx", arx(exported(path, table, roles, 3)))
    place = tmp_path / "arx" / file
    before = place.read_text("utf-8")
    after = re.sub(pattern, text, before, count=1)
    place.write_text(after, "utf-8")

    assert before != after
    with pytest.raises(CheckFailed, match=full_text):
        read_arx(tmp_path / "arx")


def test_a_folder_is_private_new_and_whole(tmp_path):
    """All of an export is its owner's alone; nothing is overwritten, no failure leaves a file."""
    path, table, roles = random_table(tmp_path, 1, target_known=False)
    files = arx(exported(path, table, roles, 3))
    old = os.umask(0)
    try:
        write_folder(tmp_path / "out", files)
    finally:
        os.umask(old)

    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "out",
                                                              *(tmp_path / "out").rglob("*")]}
    assert {path: 0o700 if path.is_dir() else 0o600 for path in modes} == modes
    with pytest.raises(ParameterError, match="exists and is not overwritten"):
        write_folder(tmp_path / "out", files)
    with pytest.raises(ParameterError, match="cannot be created"):
        write_folder(tmp_path / "none" / "out", files)
    with pytest.raises(TypeError):
        write_folder(tmp_path / "next", {**files, "settings.json": None})
    assert not (tmp_path / "next").exists()


CODED = """[[column]]
name = "pain"
kind = "number"
low = 0
high = 10
cuts = [3, 6]
missing_values = [98, 99]

[[column]]
name = "score"
kind = "number"
missing_values = [-9]

[[column]]
name = "ward"
kind = "category"
values = ["A", "B"]
"""


def test_codes_for_missing_are_missing_in_every_tool(tmp_path):
    """A number that stands for none is no number and no level there, however it is spelled."""
    rows = [[pain, score, "AB"[at % 2], at % 3 % 2] for at, (pain, score) in enumerate(
        zip([0, 4, 9, 98, "99.0", ""] * 20, [1, 2, -9, "-9.0", ""] * 24, strict=True))]
    path = write_csv(tmp_path / "t.csv", [["pain", "score", "ward", "ill"], *rows])
    domain = parse(CODED)
    actual_table = table_of(str(path), "ill", Reading(domain=domain, columns=("pain", "ward"),
                                                      sensitive=("score",)))
    table = Labelled(actual_table.items, actual_table.y, actual_table.classes, "ill")
    roles = Roles(both=("pain", "ward"), sensitive=("score",), target="ill")
    export = exported(path, table, roles, 3, domain)
    pain, _, score, _ = export.columns

    assert actual_table.sensitive[0].values == score.levels.labels == ("1", "2", "missing")
    assert {"98", "99.0", ""} == {cell for cell, group in zip(
        pain.levels.cells, pain.levels.group, strict=True)
        if pain.levels.labels[group] == "missing"}
    write_folder(tmp_path / "arx", arx(export))
    with (tmp_path / "arx" / "data.csv").open() as file:
        assert {"1", "2", "missing"} == {line["score"] for line in csv.DictReader(
            file, delimiter=";")}
    write_folder(tmp_path / "sdc", sdcmicro(export))
    script = tmp_path / "sdc" / "sdc.R"
    script.write_text(script.read_text().partition("if (!requireNamespace")[0]
                      + 'cat(sort(unique(dat$n1_pain)), sum(is.na(dat$n1_pain)), "\\n")\n'
                      + 'cat(levels(dat$v3_score), "\\n")\n')
    _, output, _ = rscript("sdc.R", cwd=tmp_path / "sdc")

    assert ["0 4 9 60", "1 2 missing"] == [line.strip() for line in output.splitlines()[-2:]]


def test_limits_are_models_of_arx(tmp_path):
    """Each limit that ARX has becomes a model for each sensitive column; the other is named."""
    path, table, roles = random_table(tmp_path, 1, target_known=False)
    export = exported(path, table, roles, 3)
    limits = Limits.of(distinct=2, entropy="1.5", closeness="0.25", share="0.8")
    write_folder(tmp_path / "out", arx(export, limits))
    settings = read_arx(tmp_path / "out").settings
    program = (tmp_path / "out" / "Anonymize.java").read_text()

    assert ("income", "ill") == settings.sensitive
    assert ("income",) == settings.decimals
    assert ("the largest share of a value: no model of ARX limits it",) == settings.left
    assert ["KAnonymity(3)", 'DistinctLDiversity("income", 2)', 'EntropyLDiversity("income", 1.5d)',
            'OrderedDistanceTCloseness("income", 0.25d)', 'DistinctLDiversity("ill", 2)',
            'EntropyLDiversity("ill", 1.5d)', 'EqualDistanceTCloseness("ill", 0.25d)',
            ] == re.findall(r"addPrivacyModel\(new (.*)\);", program)
    write_folder(tmp_path / "free", arx(export))
    assert ((), ("income", "ill")) == (read_arx(tmp_path / "free").settings.sensitive,
                                       read_arx(tmp_path / "free").settings.insensitive)


def test_the_command_writes_and_says_so(tmp_path, monkeypatch, cli):
    """An export says its level and that it is private; a table is read as its domain says."""
    rows = [[cell.replace(".", ",") for cell in row] for row in rows_of(3)]
    write_csv(tmp_path / "t.csv", rows, delimiter=";")
    domain = Domain([Number("age", 0, 120), Category("ward", ["A", "B", "C", "rare"])],
                    target=Label("ill", ["n", "y"]), csv=Csv(delimiter=";", decimal=","))
    domain.to_toml(tmp_path / "domain.toml")
    monkeypatch.chdir(tmp_path)
    for kind, options in (("sdcmicro", []), ("arx", []), ("sdcmicro", ["--by-path"])):
        out = f"{kind}{len(options)}"
        code, stdout, stderr = cli(
            "bridge", kind, "t.csv", "--out", out, "-k", 3, "--domain", "domain.toml", "--columns",
            "age,ward", "--sensitive", "income", "--absences", "all", *options)

        assert (0, "") == (code, stdout), stderr
        assert "PRIVATE: do not release" in stderr
        level, below = re.search(r"(\d+) rows in the smallest group of rows that are equal in all "
                                 r"2 known columns, as \w+ counts; (\d+) rows in groups below k",
                                 re.sub(r"\s+", " ", stderr)).groups()
        if kind == "sdcmicro":
            text = rscript("sdc.R", cwd=tmp_path / out)[1]
            assert [(level, "400", below)] == BASE.findall(text)
            assert (tmp_path / out / "table.csv").exists() == (not options)
        else:
            assert int(level) == read_arx(tmp_path / out).settings.level


def test_bad_input_is_one_sentence(tmp_path):
    """What cannot be exported is refused with the thing and the way out, and no cell is said."""
    path, table, roles = random_table(tmp_path, 1, target_known=False)
    secret = write_csv(tmp_path / "s.csv", [["ward", "ill"], ["Zebe\u202edee", "n"], ["B", "y"]])
    star = write_csv(tmp_path / "star.csv", [["ward", "ill"], ["*", "n"], ["B", "y"]])
    both, wide = Roles(both=("ward",), target="ill"), [f"x{at}" for at in range(65)]
    many = write_csv(tmp_path / "wide.csv", [wide, *([["A"] * 65] * 2), ["B"] * 65])
    wide_table = labelled(many, wide, target=None, columns=wide)
    dotted = write_csv(tmp_path / "t.npz", [])
    cases = [
        (ParameterError, "k is 0", lambda: exported(path, table, roles, 0)),
        (ParameterError, "k is 401", lambda: exported(path, table, roles, 401)),
        (ParameterError, "a bridge takes a CSV", lambda: exported(dotted, table, roles, 3)),
        (ParameterError, "--known", lambda: exported(path, table, Roles(target="ill"), 3)),
        (ParameterError, "second role", lambda: exported(
            path, table, Roles(both=("age",), target="age"), 3)),
        (SchemaError, "'job' is not in the table", lambda: exported(
            path, table, Roles(both=("age",), sensitive=("job",)), 3)),
        (SchemaError, "control or direction", lambda: exported(
            secret, labelled(secret, ("ward",), columns={"ward": ["B"]}), both, 1)),
        (SchemaError, "reads as suppressed", lambda: arx(exported(
            star, labelled(star, ("ward",)), both, 1))),
        (ParameterError, "at most 64", lambda: arx(exported(
            many, wide_table, Roles(both=tuple(wide)), 1))),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind) as error:
            call()

        assert message in str(error.value)
        assert "Zebe" not in str(error.value)
        assert 1 == len(re.findall(r"[.!?](\s|$)", f"{error.value}."))


@pytest.mark.parametrize("kind", ["arx", "sdcmicro"])
def test_the_verb_refuses_odd_limits(kind, tmp_path, monkeypatch, capsys):
    """The verb itself writes the folder; a limit that is no number reaches no program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,ill\n" + "x,1,no\ny,0,yes\n" * 6)
    arguments = ["bridge", kind, "t.csv", "--target", "ill", "-k", "2", "--out", "out"]

    assert 2 == run([*arguments, "--entropy-l", '1"); System.exit(1); ("'])
    assert ("--entropy-l" in capsys.readouterr().err, False) == (True, (tmp_path / "out").exists())
    assert 0 == run([*arguments, "--entropy-l", "1.5"])
    assert (tmp_path / "out").is_dir()
