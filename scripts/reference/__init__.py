"""The generated pages of ``docs/reference``: each module returns the text of its pages."""
