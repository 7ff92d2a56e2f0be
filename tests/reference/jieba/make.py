"""Makes tokens.json: what Python's jieba 0.42.1 gives for invented sentences.

    pip install jieba==0.42.1
    python make.py > tokens.json

White space is left out, and marks that stand together in the full cut are given one by one: the two differences that
Inkstone makes on purpose and everywhere.
"""

import json
import re
import sys

import jieba

SENTENCES = [
    "公司预计上半年净利润同比增长三成以上",
    "董事会审议通过了利润分配预案，拟每十股派发现金红利两元。",
    "控股股东计划在未来六个月内减持不超过百分之二的股份",
    "受原材料价格上涨影响，公司毛利率较上年同期有所下滑。",
    "我们首次覆盖该公司，给予买入评级，目标价三十六元。",
    "公司收到交易所问询函，要求说明商誉减值的合理性",
    "沪深两市成交额再破万亿，北向资金净买入近百亿元！",
    "证监会决定对该公司涉嫌信息披露违法违规立案调查",
    "A股三大指数集体高开，创业板指涨近1%",
    "ETF份额创历史新高，5G和AI板块领涨",
    "中华人民共和国财政部发布通知，下调部分商品进口关税",
    "小明硕士毕业于中国科学院计算所，后在日本京都大学深造",
    "他来到了网易杭研大厦",
    "工信处女干事每月经过下属科室都要亲口交代二十四口交换机等技术性器件的安装工作",
    "台积电与中芯国际的先进制程竞争日趋激烈",
    "宁波新晟源科技的锂电池隔膜项目正式投产",
    "张伟达和李晓彤被聘任为副总经理",
    "云启智联拟收购瀚海微电子百分之五十一的股权",
    "美联储宣布加息25个基点，人民币汇率小幅走低",
    "K线形态显示，短期均线已上穿长期均线",
    "风险提示：行业竞争加剧；下游需求不及预期；汇率波动。",
    "“稳增长”政策持续发力，基建投资增速回升……",
    "报告期内，公司实现营业收入12.5亿元",
    "本公司及董事会全体成员保证公告内容真实、准确、完整",
    "该药品已获得国家药品监督管理局批准上市",
    "新能源汽车销量同比翻番，动力电池供不应求",
    "猪肉价格连续三周回落，生猪养殖企业亏损扩大",
    "央行开展1000亿元逆回购操作，利率维持不变",
    "交易对方承诺2023年净利润不低于8000万元",
    "龘靐齉爩是生僻字，㐂也是",
    "Q3营收超预期　盘后股价大涨",
    "PC机、U盘与SIM卡业务C++团队",
    "",
]
# Added one after the other without a frequency, as a user dictionary of bare words would.
WORDS = ["稳增长", "云启智联", "瀚海微电子", "不及预期", "新晟源", "立案调查", "K线形态", "创业板指"]
# Then deleted from the dictionary (frequency 0).
APART = ["价格上涨", "目标价", "汇率", "A股", "龘靐"]


def clean(tokens, full=False):
    out = []
    for token in tokens:
        if token.strip() == "":
            continue
        if full and not re.search(r"[\u4E00-\u9FD5a-zA-Z0-9+#&._%\-]", token):
            out.extend(c for c in token if c.strip())
        else:
            out.append(token)
    return out


def cuts(tokenizer, text):
    return {
        "precise": clean(tokenizer.cut(text)),
        "precise_without_hmm": clean(tokenizer.cut(text, HMM=False)),
        "full": clean(tokenizer.cut(text, cut_all=True), full=True),
        "search": clean(tokenizer.cut_for_search(text)),
        "search_without_hmm": clean(tokenizer.cut_for_search(text, HMM=False)),
    }


def main():
    jieba.setLogLevel(60)
    plain, more = jieba.Tokenizer(), jieba.Tokenizer()
    for word in WORDS:
        more.add_word(word)
    for word in APART:
        more.del_word(word)
    rows = [{"text": t, "plain": cuts(plain, t), "with_words": cuts(more, t)} for t in SENTENCES]
    # A line a sentence, so that a change can be read.
    dump = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    lines = ",\n".join(dump(row) for row in rows)
    sys.stdout.write(f'{{"jieba":{dump(jieba.__version__)},"words":{dump(WORDS)},"apart":{dump(APART)},"rows":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
