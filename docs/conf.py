"""How Sphinx renders these pages; `make -C docs build` runs it. Warnings are errors there, so a link or #anchor that leads nowhere is one.

Nothing here may depend on the time, the commit or the machine: what has not changed must render to the same bytes.
"""

from pathlib import Path

project = "tfmesos"
html_title = project
html_theme = "furo"
extensions = ["myst_parser", "sphinx.ext.githubpages"]  # the second tells GitHub not to render the pages again
root_doc = "index"
exclude_patterns = ["site"]
myst_heading_anchors = 4
pygments_style = "friendly"
html_copy_source = False
html_use_index = False
html_show_sourcelink = False
html_show_copyright = False

HERE = Path(__file__).parent

# The order of the pages. One that is named nowhere comes last, so that none is forgotten.
PARTS = {
    "Use it": ["quickstart", "spec", "placement", "configuration", "mesos", "python", "moving-from-tfmesos2", "troubleshooting", "failures"],
    "Read and call it": ["redis", "callback-api"],
    "How it is built": ["architecture", "nomenclature", "decisions", "testing", "stand-in", "known-faults", "mesos-rules", "commit-messages"],
}

# The one place outside of this folder that pages link to. It becomes a part of the index.
LIMITS = "What this version does not do"
README = "../README.md#what-this-version-does-not-do"


def table_of_contents():
    pages = {page.stem for page in HERE.glob("*.md")} - {"index"}
    rest = sorted(pages.difference(*PARTS.values()))
    for caption, names in {**PARTS, "More": rest}.items():
        names = [name for name in names if name in pages]
        if names:
            yield "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```"])


def limits():
    """The section of the README that says what is missing."""
    text = (HERE.parent / "README.md").read_text(encoding="utf-8")
    _, found, section = text.partition(f"\n## {LIMITS}\n")
    if not found:
        raise ValueError(f"README.md has no section {LIMITS!r}")
    return f"## {LIMITS}\n" + section.partition("\n## ")[0]


def on_source_read(app, docname, source):
    source[0] = source[0].replace(README, README.replace("../README.md", "index.md"))
    if docname == "index":
        source[0] = "\n\n".join([source[0], limits(), *table_of_contents()])


def setup(app):
    app.connect("source-read", on_source_read)
    return {"parallel_read_safe": True}
