"""From recorded rows to figures, tables, claims and one page; nothing is trained here."""
