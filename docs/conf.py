"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "turnkeep"
copyright = "the turnkeep authors"  # noqa: A001 - the name Sphinx reads
release = version = installed_version("turnkeep")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.doctest",
    "sphinx_copybutton",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["**/_*.md"]
html_theme = "furo"
html_title = "turnkeep"
nitpicky = True
autodoc_typehints = "description"
autodoc_member_order = "bysource"
# No inventory can be fetched where CI runs, so names of other projects stay unlinked.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|datetime|pathlib|typing|tiktoken|os|re|types)\..*"),
]
# Docstring examples run under pytest --doctest-modules; here, only those of the pages.
doctest_test_doctest_blocks = ""
copybutton_exclude = ".linenos, .gp, .go"
