"""Where scikit-learn's TruncatedSVD puts a few invented documents: python lsa.py > lsa.json (scikit-learn 1.9)."""

import json

from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

DOCS = [
    "净利润 增长 订单 增长 超 预期",
    "净利润 下滑 订单 减少",
    "股东 减持 股份 公告",
    "公司 回购 股份 公告 股东",
    "订单 增长 产能 扩张",
    "产能 利用率 下滑 净利润 承压",
    "交易所 问询 公告 回复",
    "公司 收到 交易所 问询",
    "回购 股份 用于 激励",
]

x = TfidfVectorizer(analyzer=str.split).fit_transform(DOCS)
svd = TruncatedSVD(5, algorithm="arpack", random_state=0)
rows = svd.fit_transform(x)
print(json.dumps({
    "docs": DOCS,
    "singular_values": svd.singular_values_.tolist(),
    "explained_variance_ratio": svd.explained_variance_ratio_.tolist(),
    "rows": rows.tolist(),
}, ensure_ascii=False))
