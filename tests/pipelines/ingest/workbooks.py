"""Writes the smallest spreadsheets that are ones."""

import zipfile
from xml.sax.saxutils import escape

NS = "http://schemas.openxmlformats.org"
MAIN = f'xmlns="{NS}/spreadsheetml/2006/main"'
OFFICE = f"{NS}/officeDocument/2006/relationships"
RELS = f'xmlns="{NS}/package/2006/relationships"'
STYLES = f"""<styleSheet {MAIN}><cellXfs count="3"><xf numFmtId="0"/>
<xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/>
</cellXfs></styleSheet>"""
STYLE_OF = {"date": 1, "timestamp": 2}


def workbook(path, sheets):
    """Writes sheets by name, each a list of rows of texts, numbers and (style, number).

    A style is one of `STYLE_OF`, "error" with its text, or "formula" without a value.
    """
    names = list(sheets)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", _types(names))
        book.writestr(
            "_rels/.rels",
            f'<Relationships {RELS}><Relationship Id="r" Type="{OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        listed = "".join(
            f'<sheet name="{escape(name)}" sheetId="{at}" r:id="s{at}"/>'
            for at, name in enumerate(names, 1)
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        related = "".join(
            f'<Relationship Id="s{at}" Type="{OFFICE}/worksheet" '
            f'Target="worksheets/sheet{at}.xml"/>'
            for at in range(1, len(names) + 1)
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships {RELS}>{related}<Relationship Id="t" '
            f'Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
        )
        book.writestr("xl/styles.xml", STYLES)
        for at, name in enumerate(names, 1):
            book.writestr(f"xl/worksheets/sheet{at}.xml", _sheet(sheets[name]))
    return path


def _types(names):
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{at}.xml" '
        f'ContentType="{kind}.worksheet+xml"/>'
        for at in range(1, len(names) + 1)
    )
    return (
        f'<Types xmlns="{NS}/package/2006/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{kind}.styles+xml"/>'
        f"{parts}</Types>"
    )


def _sheet(rows):
    lines = "".join(
        f'<row r="{at}">{"".join(_cell(at, n, value) for n, value in enumerate(row))}</row>'
        for at, row in enumerate(rows, 1)
    )
    return f"<worksheet {MAIN}><sheetData>{lines}</sheetData></worksheet>"


def _cell(row, column, value):
    place = f"{chr(65 + column)}{row}"
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    style, number = value if isinstance(value, tuple) else (None, value)
    if style == "error":
        return f'<c r="{place}" t="e"><f>1/0</f><v>{number}</v></c>'
    if style == "formula":
        return f'<c r="{place}"><f>{number}</f><v></v></c>'
    mark = f' s="{STYLE_OF[style]}"' if style else ""
    return f'<c r="{place}"{mark}><v>{number}</v></c>'
