"""A wheel's bill of materials (CycloneDX 1.6, as PEP 770 places it): setup.py and vocabularies/setup.py write it."""

from __future__ import annotations

import json
import pathlib
import re
import runpy
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent

UNICODE = "16.0.0"
"""The version of Unicode that the generated tables have: csrc/split/unicode_tables.h names it, too."""


def published() -> dict[str, str]:
    """Bundled vocabulary -> sha256 of the rank file that it was made of. Read as text: nothing may be built yet."""
    source = (ROOT / "streamtok" / "bundled" / "packed.py").read_text(encoding="utf-8")
    table = source.partition("PUBLISHED = {")[2].partition("}")[0]
    return dict(re.findall(r'"(\w+)": "([0-9a-f]{64})"', table))


def _package(name: str, version: str | None = None) -> dict[str, Any]:
    place = f"pkg:pypi/{name}" + (f"@{version}" if version else "")
    return {"type": "library", "bom-ref": place, "name": name, "purl": place} | (
        {"version": version} if version else {}
    )


def _licensed(name: str) -> list[dict[str, Any]]:
    return [{"license": {"id": name}}]


def _vocabularies() -> list[dict[str, Any]]:
    return [
        {
            "type": "data",
            "bom-ref": f"data:{name}",
            "name": f"{name}.tiktoken",
            "supplier": {"name": "OpenAI"},
            "licenses": _licensed("MIT"),
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
        for name, digest in published().items()
    ]


def _characters() -> dict[str, Any]:
    return {
        "type": "data",
        "bom-ref": "data:unicode",
        "name": "Unicode Character Database",
        "version": UNICODE,
        "supplier": {"name": "Unicode, Inc."},
        "licenses": _licensed("Unicode-3.0"),
    }


def sbom(name: str, version: str, requirements: list[str], has_code: bool, has_data: bool) -> dict[str, Any]:
    """The document of one wheel. requirements: as in its metadata; a version range is a property, as CycloneDX has
    none. Nothing in it depends on time or machine, so that wheels can be built again."""
    own = _package(name, version) | {"licenses": _licensed("MIT")}
    needed = []
    for each in requirements:
        other = _package(re.match(r"[\w.-]+", each)[0])  # type: ignore[index]  # a requirement begins with a name
        needed.append(other | {"scope": "required", "properties": [{"name": "requirement", "value": each}]})
    inside = [*([_characters()] if has_code else []), *(_vocabularies() if has_data else [])]
    components = [*needed, *inside]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in components]},
            *({"ref": each["bom-ref"]} for each in components),
        ],
    }


def write(folder: str, document: dict[str, Any]) -> None:
    """Into the .dist-info folder of a wheel."""
    target = pathlib.Path(folder, "sboms")
    target.mkdir()
    name = document["metadata"]["component"]["name"]
    (target / f"{name}.cdx.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def version() -> str:
    """Of streamtok."""
    found: str = runpy.run_path(str(ROOT / "streamtok" / "_version.py"))["__version__"]
    return found
