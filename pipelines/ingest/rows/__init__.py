"""Turns a file into validated rows and rejected rows.

options             how a file is read, from the call and its source in harbor.toml
kind_detection      header → kind of file and column positions, by file_schemas
text, parquet       CSV or Parquet → batches of cells (text_blocks: bytes → blocks of rows)
batches             types of batches and of rejected rows
conventions         detects date order and decimal mark over the whole file
validation          cells → typed rows and rejected rows, by file_schemas, parsing and dates
parser              runs all of the above in a child process with a memory limit
"""
