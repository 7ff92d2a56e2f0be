//! Sentences on a factor whose texts or whose graph were changed for others at random.

use inkstone_lab::lint::Standing;
use inkstone_lab::lint::finding::{Draws, RewiredGraph, ShuffledText};

use super::joined;

pub(super) fn rewired_graph(finding: &RewiredGraph, standing: Standing) -> [String; 2] {
    let Draws { rank_ic, p, draws, .. } = &finding.draws;
    let rewired = finding.rank_ic_rewired;
    let percent = 100.0 * finding.draws.share(rewired);
    let figures = [
        format!(
            "随机重连因子的图（{draws} 次，每只股票的连边数不变）后重建因子，RankIC 均值从 {rank_ic:+.4} 变为 {rewired:+.4}，\
             剩 {percent:.0} %（p = {p:.3}）"
        ),
        format!(
            "With the factor's graph rewired at random ({draws} draws, each name keeps the number of its ties) and the \
             factor built anew, the mean RankIC goes from {rank_ic:+.4} to {rewired:+.4}: {percent:.0} % remains (p = {p:.3})"
        ),
    ];
    let meaning = match standing {
        Standing::Failed => (
            "。预测力主要不来自谁与谁相邻，而来自连边的多少或全体股票的共性；请减去全体的均值（demean），或加入连边更少的对照。",
            ". The predictive power is mostly not that of who is whose neighbour, but of how many ties a name has or of what \
             all names share: take the mean of all off (demean), and look again.",
        ),
        Standing::Warned => (
            "。随机的邻居也能得到同样大的 RankIC，图的作用未得到证明；请用更长的样本再看。",
            ". Neighbours drawn at random do as well now and then, so that the graph is not shown to matter: look again with a \
             longer sample.",
        ),
        _ => ("，预测力确实来自邻居。", ", so the predictive power is that of the neighbours."),
    };
    joined(figures, meaning)
}

pub(super) fn shuffled_text(finding: &ShuffledText, standing: Standing) -> [String; 2] {
    let Draws { rank_ic, p, draws, .. } = &finding.draws;
    let permuted = finding.rank_ic_permuted;
    let percent = 100.0 * finding.draws.share(permuted);
    let figures = [
        format!(
            "把文本的取值在同类文档间打乱（{draws} 次）后重建因子，RankIC 均值从 {rank_ic:+.4} 变为 {permuted:+.4}，\
             剩 {percent:.0} %（p = {p:.3}）"
        ),
        format!(
            "With what texts say permuted among documents of a kind ({draws} draws) and the factor built anew, the \
             mean RankIC goes from {rank_ic:+.4} to {permuted:+.4}: {percent:.0} % remains (p = {p:.3})"
        ),
    ];
    let meaning = match standing {
        Standing::Warned if finding.counts_documents => (
            "。打乱毫无影响：因子只数文档，衡量的是关注度而非内容；若本意如此则无妨，否则请改 aggregate。",
            ". Nothing changes: the factor counts documents, so it measures attention and not what is said. No fault \
             if that is meant; else choose another aggregate.",
        ),
        Standing::Failed => (
            "。预测力主要来自谁在何时被写到（关注度），而非写了什么；请把文档数作为单独的因子，并以均值代替求和再看。",
            ". The predictive power is mostly that of who is written about and when (attention), not of what is said: \
             make the number of documents a factor of its own, take means instead of sums, and look again.",
        ),
        Standing::Warned => (
            "。随机分配的内容也能得到同样大的 RankIC，内容的作用未得到证明；请用更长的样本再看。",
            ". Contents given at random do as well now and then, so that what is said is not shown to matter: look \
             again with a longer sample.",
        ),
        _ => ("，预测力确实来自文本的内容。", ", so the predictive power is that of what is said."),
    };
    joined(figures, meaning)
}
