"""The data of streamtok's bundled vocabularies; streamtok reads the files beside this one. There is nothing to call."""
