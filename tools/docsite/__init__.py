"""Parts of the documentation site that are generated, and links between its pages."""
