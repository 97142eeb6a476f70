"""Sources of files: folders, URLs, archives, standard input and the inbox.

files      finds files at paths and URLs, and opens them
spool      copies of standard input, web addresses and archives, in a `temporary` folder
workbook   the one sheet of a spreadsheet → CSV
inbox      waits for files still being written, moves loaded ones to `done`
refusals   reasons for refusing a file
"""
