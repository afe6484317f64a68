"""The application package that makes a Vespa of one collection: services, schema, rank profiles, limits."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import date, timedelta

from bakeoff.types import Metric, PayloadField

DISTANCES = {Metric.COSINE: "angular", Metric.DOT: "dotproduct", Metric.L2: "euclidean"}
FAR = "distance(field, vector)"
SCORES = {Metric.COSINE: f"cos({FAR})", Metric.DOT: f"-{FAR}", Metric.L2: f"-pow({FAR}, 2)"}
"""The distance (an angle, minus the product, a length) in the terms every store answers in."""
KINDS = {
    "text": (
        "string",
        "attribute: fast-search\n      match: cased\n      dictionary {\n        hash\n        cased\n      }",
    ),
    "integer": ("long", "attribute: fast-search"),
    "number": ("double", "attribute: fast-search"),
}
SERVICES = """\
<services version="1.0">
  <container id="default" version="1.0"><search/><document-api/></container>
  <content id="rows" version="1.0">
    <min-redundancy>1</min-redundancy>
    <documents><document type="{name}" mode="index"/></documents>
    <nodes><node distribution-key="0" hostalias="node1"/></nodes>
  </content>
</services>
"""
HOSTS = '<hosts><host name="localhost"><alias>node1</alias></host></hosts>\n'
PROFILE = '<query-profile id="default"><field name="maxHits">100000</field></query-profile>\n'
OVERRIDES = """\
<validation-overrides>
  <allow until="{until}">schema-removal</allow>
  <allow until="{until}">content-type-removal</allow>
  <allow until="{until}">field-type-change</allow>
  <allow until="{until}">indexing-change</allow>
</validation-overrides>
"""
FIELD = """\
    field {name} type {kind} {{
      indexing: {indexing}
      {more}
    }}
"""
VECTOR = """\
attribute {{ distance-metric: {distance} }}
      index {{ hnsw {{ max-links-per-node: {m} neighbors-to-explore-at-insert: {ef} }} }}"""
NEAR = """\
  rank-profile near {{
    inputs {{ query(q) tensor<float>(x[{dims}]) }}
    first-phase {{ expression: {score} }}
  }}
"""
SCHEMA = """\
schema {name} {{
  document {name} {{
{fields}  }}
{near}  rank-profile words {{
    first-phase {{ expression: bm25(text) }}
  }}
  document-summary ids {{
    summary number {{}}
  }}
}}
"""


def schema(
    name: str, dims: int, metric: Metric, graph: tuple[int, int], columns: Mapping[str, PayloadField]
) -> str:
    """The schema of a collection, with a vector where it has dimensions; `graph` is its m and ef_construction."""
    fields = FIELD.format(name="number", kind="long", indexing="attribute | summary", more="")
    fields += FIELD.format(name="text", kind="string", indexing="index", more="index: enable-bm25")
    for column, field in columns.items():
        kind, more = KINDS[field.kind]
        fields += FIELD.format(name=column, kind=kind, indexing="attribute | summary", more=more)
    near = ""
    if dims:
        shape = VECTOR.format(distance=DISTANCES[metric], m=graph[0], ef=graph[1])
        kind = f"tensor<float>(x[{dims}])"
        fields += FIELD.format(name="vector", kind=kind, indexing="attribute | index", more=shape)
        near = NEAR.format(dims=dims, score=SCORES[metric])
    return SCHEMA.format(name=name, fields=fields, near=near)


def package(name: str, schema_text: str) -> bytes:
    """The package as a zip file; what an earlier collection left may be dropped."""
    until = (date.today() + timedelta(days=7)).isoformat()
    files = {
        "services.xml": SERVICES.format(name=name),
        "hosts.xml": HOSTS,
        "validation-overrides.xml": OVERRIDES.format(until=until),
        "search/query-profiles/default.xml": PROFILE,
        f"schemas/{name}.sd": schema_text,
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        for path, text in files.items():
            packed.writestr(path, text)
    return held.getvalue()
