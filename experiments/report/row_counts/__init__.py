"""The study of real tables: q-errors of row counts, as tables and one figure."""
