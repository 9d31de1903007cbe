"""How the site is built: ``sphinx-build -W --keep-going docs build/site``. Nothing is fetched while it is."""

import re
from pathlib import Path

from docutils import nodes

from saltus import __version__

project = "saltus"
author = "The saltus developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]

# A program makes this page (``python -m benchmarks.compare --page``): the table of contents has it where it is there.
exclude_patterns = [] if Path(__file__).with_name("compare.md").exists() else ["compare.*"]
suppress_warnings = ["toc.excluded"]

myst_heading_anchors = 3
smartquotes_action = "De"  # dashes; quotes in docstrings are code

autodoc_typehints = "none"  # docstrings have them, in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "saltus"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def escape_fitted_names(app, what, name, obj, options, lines):
    """Let ``n_features_in_`` in a docstring be a name: in reStructuredText a last underscore makes a link."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)
        lines[number] = "".join(
            part if part.startswith("`") else re.sub(r"(?<=\w)_(?!\w)", r"\\_", part) for part in parts
        )


def add_dark_pictures(app, document):
    """Put the dark variant of each picture beside it, and let the theme show one of the two."""
    for image in list(document.findall(nodes.image)):
        light = Path(image["uri"])
        dark = light.with_stem(f"{light.stem}_dark")
        if (Path(app.srcdir) / Path(app.env.docname).parent / dark).exists():
            other = image.deepcopy()
            other["uri"] = dark.as_posix()
            image["classes"].append("only-light")
            other["classes"].append("only-dark")
            image.parent.insert(image.parent.index(image) + 1, other)


def setup(app):
    """Change docstrings after napoleon has made fields of their sections, and pictures before these are collected."""
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=600)
    app.connect("doctree-read", add_dark_pictures, priority=400)
