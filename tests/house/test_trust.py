"""What a release says of itself: bills of materials, pinned workflows, builds that can be repeated."""

from __future__ import annotations

import pathlib
import re
import shutil
import zipfile

import oracle
import pytest
import reproducible
import sbom

from streamtok.bundled.packed import PUBLISHED

ROOT = oracle.PROJECT
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
in_repository = pytest.mark.skipif(not WORKFLOWS, reason="the workflows are not in a source distribution")


def test_a_bill_of_materials_names_what_is_inside_and_what_is_needed():
    document = sbom.sbom("streamtok", "1.2.3", ["numpy>=1.23", "regex>=2022.1.18"], True, True)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    known = {each["name"]: each for each in document["components"]}
    assert {"numpy", "regex", "Unicode Character Database"} < set(known)
    for name, digest in PUBLISHED.items():
        assert known[f"{name}.tiktoken"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    references = [each["bom-ref"] for each in document["components"]]
    assert len(set(references)) == len(references)
    first, *others = document["dependencies"]
    assert first == {"ref": "pkg:pypi/streamtok@1.2.3", "dependsOn": references}
    assert [each["ref"] for each in others] == references
    assert known["numpy"]["properties"] == [{"name": "requirement", "value": "numpy>=1.23"}]
    code = sbom.sbom("streamtok", "1.2.3", ["streamtok-vocab==9.0.0"], True, False)
    assert [each["name"] for each in code["components"]] == ["streamtok-vocab", "Unicode Character Database"]


def test_the_version_of_unicode_is_that_of_the_tables():
    head = (ROOT / "csrc" / "split" / "unicode_tables.h").read_text(encoding="utf-8")[:400]
    assert f"(Unicode {sbom.UNICODE.removesuffix('.0')})" in head


def test_a_bill_lies_where_installers_keep_it(tmp_path):
    sbom.write(str(tmp_path), sbom.sbom("streamtok", "1.2.3", [], True, True))
    assert [path.name for path in (tmp_path / "sboms").iterdir()] == ["streamtok.cdx.json"]


@in_repository
def test_actions_are_pinned_by_commit_and_packages_by_hash():
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert re.search(r"^permissions:\n  contents: read$", text, re.M), f"{path.name} may write"
        for line in text.splitlines():
            if "uses:" in line:
                assert re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v[\d.]+$", line), f"{path.name}: {line}"
    for path in (ROOT / ".github" / "requirements").glob("*.txt"):
        names = re.findall(r"^[\w.-]+==\S+", path.read_text(encoding="utf-8"), re.M)
        hashes = path.read_text(encoding="utf-8").count("--hash=sha256:")
        assert names and hashes >= len(names)


@in_repository
def test_the_fuzzers_of_the_workflow_are_built_by_a_script_that_is_there():
    folder = ROOT / ".clusterfuzzlite"
    assert 'tools/fuzz.py --build "$OUT"' in (folder / "build.sh").read_text(encoding="utf-8")
    assert (folder / "project.yaml").read_text(encoding="utf-8") == "language: c\n"
    assert "--require-hashes -r .github/requirements/build.txt" in (folder / "Dockerfile").read_text(encoding="utf-8")


def test_files_that_differ_between_two_wheels_are_named(tmp_path):
    wheels = []
    for number, content in enumerate(("same", "other")):
        wheels.append(tmp_path / f"{number}.whl")
        with zipfile.ZipFile(wheels[-1], "w") as archive:
            archive.writestr(zipfile.ZipInfo("a"), "same")
            archive.writestr(zipfile.ZipInfo("b"), content)
    assert reproducible.differing(wheels) == ["b"]
    copy = pathlib.Path(shutil.copy(wheels[0], tmp_path / "copy.whl"))
    assert reproducible.differing([wheels[0], copy]) == []
    with zipfile.ZipFile(copy, "a") as archive:
        archive.comment = b"later"
    assert reproducible.differing([wheels[0], copy]) == ["0.whl"]
