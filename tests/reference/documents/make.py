"""Writes the files of this folder. Every sentence, name and figure in them is made up.

    pip install reportlab pypdf python-docx openpyxl xlwt
    python make.py

The fonts are not embedded: STSong-Light is one of the fonts of Adobe's Asian font packs, written in the encoding
UniGB-UCS2-H, as in many reports.
"""

import io
import pathlib

from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen import canvas

HERE = pathlib.Path(__file__).parent
WIDTH, HEIGHT = A4
pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))

LEFT = """公司第三季度新增订单同比增长两成，海外渠道
贡献了其中的大半。管理层在交流中表示，新产线
将在年底前投入使用，届时产能的瓶颈有望缓解。
我们认为，成本端的压力正在减轻，毛利率的拐
点已经出现。"""
RIGHT = """行业层面，下游补库意愿回升，价格连续两个月
企稳。竞争对手的扩产节奏慢于此前的公告，供给
端的格局好于预期。我们维持盈利预测不变，并提
示原材料价格波动的风险。"""


def page(name, **options):
    return canvas.Canvas(str(HERE / name), pagesize=A4, invariant=1, **options)


def lines(c, text, x, y, size=10, pitch=16):
    c.setFont("STSong-Light", size)
    for i, line in enumerate(text.splitlines()):
        c.drawString(x, y - pitch * i, line)


def columns():
    """Two columns on one grid below a title; drawn line by line across, as some programs do."""
    c = page("columns.pdf")
    lines(c, "星河材料：订单回暖，拐点已现", 60, 760, size=20)
    lines(c, "2024 年 03 月 15 日", 60, 730)
    c.setFont("STSong-Light", 10)
    left, right = LEFT.splitlines(), RIGHT.splitlines()
    for i in range(max(len(left), len(right))):
        for column, x in ((left, 60), (right, 320)):
            if i < len(column):
                c.drawString(x, 700 - 16 * i, column[i])
    c.save()


def report():
    """Three pages with header, footer, page numbers, template marks, a side column, bullets and a table."""
    c = page("report_20240402.pdf")
    c.setTitle("Microsoft Word - 模板")
    for number in (1, 2, 3):
        if number > 1:
            lines(c, "星河材料（399999）动态点评", 400, 800, size=9)
        lines(c, "请务必阅读正文之后的声明", 60, 40, size=8)
        lines(c, str(number), 520, 40, size=8)
        if number == 1:
            lines(c, "[Table_Title]", 60, 780, size=1)
            lines(c, "订单充足，产能释放可期", 60, 760, size=22)
            lines(c, "2024年04月01日", 60, 735, size=9)
            lines(c, "[Table_Summary] 【事项】", 60, 700, size=13)
            # The bullets are of another font, as programs draw them.
            for i, text in enumerate([LEFT, RIGHT]):
                lines(c, "◆", 60, 670 - 110 * i)
                lines(c, text, 80, 670 - 110 * i, pitch=17.5)
            side = "买入（维持）\n分析师：甲某某\n证书编号：S0000000000001\n总市值（百万元）\n2023.11.20"
            lines(c, side, 400, 760, size=9, pitch=15.3)
            lines(c, "相关研究\n《需求平稳，静待新品放量》\n2023.10.28", 400, 620, size=9, pitch=15.3)
        if number == 2:
            lines(c, "盈利预测", 60, 760, size=12)
            rows = [["项目/年度", "2022A", "2023A", "2024E"], ["营业收入（百万元）", "4496.89", "8510.22", "11788.41"]]
            rows += [["增长率(%)", "40.40", "89.25", "38.52"], ["每股收益（元）", "1.91", "3.50", "4.39"]]
            for i, row in enumerate(rows):
                for j, cell in enumerate(row):
                    lines(c, cell, 60 + 130 * j, 735 - 18 * i)
        if number == 3:
            lines(c, "【风险提示】", 60, 760, size=13)
            lines(c, "◆ 下游需求恢复不及预期；\n◆ 新产线爬坡慢于预期。", 60, 735)
        c.showPage()
    c.save()


def scan():
    """A picture and no text."""
    # A grey ramp as a PGM picture.
    picture = io.BytesIO(b"P5 64 64 255\n" + bytes(4 * (i % 64) for i in range(64 * 64)))
    c = page("scan.pdf")
    c.drawImage(ImageReader(picture), 50, 50, 400, 600)
    c.save()


def encrypted():
    """Needs a password to be opened; and one that only forbids copying, which opens without."""
    for name, user in (("encrypted.pdf", "secret"), ("no_copying.pdf", "")):
        guard = StandardEncryption(user, ownerPassword="owner", canCopy=0, strength=128)
        c = page(name, encrypt=guard)
        lines(c, "星河材料：第三季度订单同比增长两成，海外渠道贡献大半。", 60, 760)
        c.save()


def garbled():
    """GBK bytes that a program took for Latin-1."""
    c = page("garbled.pdf")
    c.setFont("Helvetica", 11)
    for i, line in enumerate(LEFT.splitlines()):
        c.drawString(60, 760 - 16 * i, line.encode("gbk").decode("latin-1"))
    c.save()


def unmapped():
    """A report whose font no longer says which characters its glyphs are."""
    reader = PdfReader(HERE / "columns.pdf")
    writer = PdfWriter()
    writer.append(reader)
    for font in writer.pages[0]["/Resources"]["/Font"].values():
        font = font.get_object()
        if font.get("/Subtype") == "/Type0":
            from pypdf.generic import DictionaryObject, NameObject, NumberObject, TextStringObject

            system = DictionaryObject()
            system[NameObject("/Registry")] = TextStringObject("Adobe")
            system[NameObject("/Ordering")] = TextStringObject("Identity")
            system[NameObject("/Supplement")] = NumberObject(0)
            font[NameObject("/Encoding")] = NameObject("/Identity-H")
            font["/DescendantFonts"][0].get_object()[NameObject("/CIDSystemInfo")] = system
    writer.write(HERE / "unmapped.pdf")


columns()
report()
scan()
encrypted()
garbled()
unmapped()


def office():
    """A Word document with a table, a heading and a deleted passage; workbooks of the new and the old format; a page."""
    import datetime

    import docx
    import openpyxl
    import xlwt
    from docx.oxml import parse_xml

    document = docx.Document()
    when = datetime.datetime(2024, 4, 3, 1, 30)
    document.core_properties.created = document.core_properties.modified = when
    document.core_properties.author = "甲某某"
    document.core_properties.title = ""
    document.add_paragraph("订单充足，产能释放可期", style="Title")
    paragraph = document.add_paragraph("公司第三季度新增订单同比增长两成")
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    paragraph._p.append(parse_xml(f'<w:del xmlns:w="{w}" w:id="1"><w:r><w:delText>，删去的话</w:delText></w:r></w:del>'))
    paragraph.add_run("，海外渠道贡献了其中的大半。")
    table = document.add_table(rows=2, cols=3)
    for i, row in enumerate([["项目", "2022A", "2023A"], ["营业收入（百万元）", "4496.89", "8510.22"]]):
        for j, cell in enumerate(row):
            table.cell(i, j).text = cell
    document.sections[0].header.paragraphs[0].text = "页眉不属于正文"
    document.save(HERE / "report.docx")

    rows = [["代码", "日期", "收盘价", "成交量", "备注"], [600000, datetime.date(2024, 4, 1), 12.5, 100000, "甲"]]
    rows += [["000001.SZ", datetime.date(2024, 4, 1), 8, 200000, None], [None] * 5]
    rows += [["000001.SZ", datetime.datetime(2024, 4, 2, 15, 0), "-1", 300000, "价格为负"]]
    book = openpyxl.Workbook()
    book.active.title = "说明"
    book.active.append(["这一页没有行情"])
    sheet = book.create_sheet("日线")
    for row in rows:
        sheet.append(row)
    book.properties.created = book.properties.modified = when
    book.save(HERE / "prices.xlsx")

    old = xlwt.Workbook(encoding="utf-8")
    page = old.add_sheet("日线")
    day = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    moment = xlwt.easyxf(num_format_str="YYYY-MM-DD HH:MM:SS")
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if isinstance(cell, datetime.datetime):
                page.write(i, j, cell, moment)
            elif isinstance(cell, datetime.date):
                page.write(i, j, cell, day)
            elif cell is not None:
                page.write(i, j, cell)
    old.save(str(HERE / "prices.xls"))

    html = """<!DOCTYPE html>
<html><head><meta charset="gb2312"><title>星河材料：订单回暖_某某网</title>
<meta property="article:published_time" content="2024-04-03T09:30:00+08:00"></head>
<body><div id="nav"><a href="/">首页</a></div>
<article><h1>星河材料：订单回暖</h1>
<p>公司第三季度新增订单同比增长两成，海外渠道
贡献了其中的大半。</p><p>市盈率&lt;15倍，处于历史低位。管理层在交流中表示，新产线将在年底前投入使用，届时产能的瓶颈有望缓解。</p></article>
<footer>版权所有</footer></body></html>
"""
    (HERE / "page.html").write_bytes(html.encode("gb18030"))


office()
