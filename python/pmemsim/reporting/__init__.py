"""Make one page of any results: read the JSON of commands, and write HTML that needs no network."""
