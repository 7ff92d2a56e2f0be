//! Detection of a file's encoding, and strict decoding of one field at a time.
//!
//! Files in UTF-8, GB18030 (GBK and GB2312 are parts of it) and Big5 are cut into records as raw bytes and decoded field by
//! field, so that one broken character costs one row and the row's own bytes can be shown. This is safe because no
//! byte of a multi-byte character is below 0x30; the cutter passes over second bytes, which may look like `|`, `\`, `[`
//! ([`Charset::is_wide`]). UTF-16 is turned into UTF-8 on the fly ([`Utf16Reader`]), unpaired surrogates as three bytes that
//! strict decoding then refuses, so that the original bytes can be had back from any record ([`Charset::original`]).

use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom};

use anyhow::Result;
use encoding_rs::{BIG5, Encoding, GB18030, UTF_8, UTF_16BE, UTF_16LE};
use serde::{Deserialize, Serialize};

use crate::bail;

/// Bytes of a sample.
const WINDOW: usize = 1 << 16;
/// Marks the odd byte at the end of a file in UTF-16: its halves follow. No text in UTF-8 has this byte.
const HALF: u8 = 0xff;
/// Samples beside the first, evenly over the file.
const WINDOWS: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    Utf8,
    Gb18030,
    Big5,
    Utf16Le,
    Utf16Be,
}

impl Charset {
    /// The charset of a usual label (`gbk`, `utf8`, `cp936`).
    pub fn for_label(label: &str) -> Option<Charset> {
        match label.trim().to_ascii_lowercase().as_str() {
            "cp936" | "ms936" | "gb18030-2000" => return Some(Charset::Gb18030),
            "cp950" => return Some(Charset::Big5),
            "utf-8-sig" | "utf_8_sig" | "utf-8-bom" => return Some(Charset::Utf8),
            "utf16" | "utf16le" => return Some(Charset::Utf16Le),
            "utf16be" => return Some(Charset::Utf16Be),
            _ => {}
        }
        let encoding = Encoding::for_label(label.as_bytes())?;
        let known = [Charset::Utf8, Charset::Gb18030, Charset::Big5, Charset::Utf16Le, Charset::Utf16Be];
        let encoding = if encoding == encoding_rs::GBK { GB18030 } else { encoding };
        known.into_iter().find(|c| c.encoding() == encoding)
    }

    pub fn name(self) -> &'static str {
        self.encoding().name()
    }

    fn encoding(self) -> &'static Encoding {
        match self {
            Charset::Utf8 => UTF_8,
            Charset::Gb18030 => GB18030,
            Charset::Big5 => BIG5,
            Charset::Utf16Le => UTF_16LE,
            Charset::Utf16Be => UTF_16BE,
        }
    }

    /// True if a byte from 0x81 on begins a character whose next byte may be an ASCII letter or sign.
    pub fn is_wide(self) -> bool {
        matches!(self, Charset::Gb18030 | Charset::Big5)
    }

    pub fn is_utf16(self) -> bool {
        matches!(self, Charset::Utf16Le | Charset::Utf16Be)
    }

    /// The text of some bytes of a record; `None` when they are not in this encoding.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Charset::Gb18030 | Charset::Big5 => {
                self.encoding().decode_without_bom_handling_and_without_replacement(bytes)
            }
            _ => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        }
    }

    /// The text of some bytes, broken ones replaced; for messages only.
    pub fn decode_lossy(self, bytes: &[u8]) -> String {
        match self {
            Charset::Gb18030 | Charset::Big5 => self.encoding().decode_without_bom_handling(bytes).0.into_owned(),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    /// The bytes of the file that a record's bytes came from.
    pub fn original(self, bytes: &[u8]) -> Vec<u8> {
        if !self.is_utf16() {
            return bytes.to_vec();
        }
        let (bytes, half) = match bytes {
            [text @ .., HALF, high, low] => (text, Some(high << 4 | low & 0x0f)),
            _ => (bytes, None),
        };
        let mut out = Vec::with_capacity(bytes.len());
        let mut push = |unit: u32| match self {
            Charset::Utf16Be => out.extend_from_slice(&(unit as u16).to_be_bytes()),
            _ => out.extend_from_slice(&(unit as u16).to_le_bytes()),
        };
        let mut i = 0;
        while i < bytes.len() {
            let (value, length) = generous_utf8(&bytes[i..]);
            i += length;
            if value >= 0x1_0000 {
                push(0xd800 + ((value - 0x1_0000) >> 10));
                push(0xdc00 + ((value - 0x1_0000) & 0x3ff));
            } else {
                push(value);
            }
        }
        out.extend(half);
        out
    }

    /// Number of bytes that a record's bytes have in the file.
    pub fn original_len(self, bytes: &[u8]) -> u64 {
        if !self.is_utf16() {
            return bytes.len() as u64;
        }
        // Two bytes a character, four for those that take four in UTF-8 too.
        let taken = |byte: &u8| match *byte {
            0x80..=0xbf => 0,
            HALF => 1,
            byte => 2 + 2 * u64::from(byte >= 0xf0),
        };
        bytes.iter().map(taken).sum()
    }
}

/// The value and length of the first character, surrogates allowed.
fn generous_utf8(bytes: &[u8]) -> (u32, usize) {
    let tail = |i: usize| u32::from(bytes.get(i).copied().unwrap_or(0) & 0x3f);
    match bytes[0] {
        b @ 0..=0x7f => (b.into(), 1),
        b @ 0xc0..=0xdf => (u32::from(b & 0x1f) << 6 | tail(1), 2),
        b @ 0xe0..=0xef => (u32::from(b & 0x0f) << 12 | tail(1) << 6 | tail(2), 3),
        b @ 0xf0..=0xf7 => (u32::from(b & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
        _ => (0xfffd, 1),
    }
}

/// The encoding of a file, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoded {
    /// Name of the encoding (`UTF-8`, `gb18030`, `Big5`, `UTF-16LE`, `UTF-16BE`).
    pub name: String,
    /// `bom`, `declared`, `ascii`, `valid` (every sample decodes and no other encoding explains it), `utf-16 pattern`, `guessed`
    /// (by the characters it would give).
    pub by: String,
    /// Share of the sampled non-ASCII characters that are well-formed, 0 to 1; for guesses also of common characters.
    pub sure: f64,
    /// True if the file begins with a byte order mark.
    pub bom: bool,
}

impl Encoded {
    pub fn charset(&self) -> Charset {
        // Written by this module, so it is one of its names.
        Charset::for_label(&self.name).unwrap_or(Charset::Utf8)
    }

    pub fn bom_len(&self) -> u64 {
        match (self.bom, self.charset()) {
            (false, _) => 0,
            (true, Charset::Utf8) => 3,
            (true, _) => 2,
        }
    }
}

/// Detects the encoding of a file from its head, from samples along it, and from its first byte that is not ASCII.
pub fn detect(file: &mut (impl Read + Seek), declared: Option<Charset>) -> Result<Encoded> {
    let samples = sample(file)?;
    let head: &[u8] = samples.first().map_or(&[], Vec::as_slice);
    let found = detect_in(head, &samples)?;
    let Some(declared) = declared else {
        return found.ok_or_else(|| {
            crate::error!("无法判断编码（UTF-8、GB18030、Big5、UTF-16 都不符；是二进制文件吗？）；请在其 [[source]] 中设置 `encoding`", "the encoding cannot be told (neither UTF-8, GB18030, Big5 nor UTF-16 fits; a binary file?); set `encoding` of its [[source]]")
        });
    };
    let fits = well_formed(declared, &samples);
    if let Some(found) = found {
        let agrees = found.charset() == declared || found.by == "ascii" && !declared.is_utf16();
        // Few bytes are weak evidence; a guess alone does not overrule a declaration that decodes.
        let overruled = found.by != "guessed" || fits < 0.95 || found.sure > commonness(declared, &samples) + 0.1;
        if !agrees && overruled {
            bail!(
                "声明为 {}，但内容像是 {}（{}）；请改正或删除其 [[source]] 的 `encoding`",
                "declared {}, but the content looks like {} ({}); fix or remove `encoding` of its [[source]]",
                declared.name(),
                found.name,
                found.by
            );
        }
        return Ok(Encoded {
            name: declared.name().into(),
            by: "declared".into(),
            sure: fits,
            bom: agrees && found.bom,
        });
    }
    if fits < 0.95 {
        let percent = 100.0 * (1.0 - fits);
        bail!(
            "声明为 {}，但抽样字符中有 {percent:.0} % 不属于该编码；请改正或删除其 [[source]] 的 `encoding`",
            "declared {}, but {percent:.0} % of the characters sampled are not in it; fix or remove `encoding` of its [[source]]",
            declared.name()
        );
    }
    Ok(Encoded { name: declared.name().into(), by: "declared".into(), sure: fits, bom: false })
}

/// The text of a small file as a whole, and the name of its encoding.
pub fn decode_whole(bytes: &[u8]) -> Result<(String, &'static str)> {
    let found = detect(&mut io::Cursor::new(bytes), None).map_err(|_| {
        crate::error!("无法判断编码（UTF-8、GB18030、Big5、UTF-16 都不符；是二进制文件吗？）；请存为 UTF-8", "the encoding cannot be told (neither UTF-8, GB18030, Big5 nor UTF-16 fits; a binary file?); save it as UTF-8")
    })?;
    let (text, broken) = found.charset().encoding().decode_with_bom_removal(bytes);
    if broken {
        let line = 1 + text.split('\u{fffd}').next().unwrap_or_default().matches('\n').count();
        bail!(
            "第 {line} 行不是其余各行的编码 {}；请存为 UTF-8",
            "line {line} is not {}, which the rest seems to be; save it as UTF-8",
            found.name
        );
    }
    Ok((text.into_owned(), found.charset().name()))
}

fn detect_in(head: &[u8], samples: &[Vec<u8>]) -> Result<Option<Encoded>> {
    let found = |charset: Charset, by: &str, sure: f64, bom: bool| {
        Ok(Some(Encoded { name: charset.name().into(), by: by.into(), sure, bom }))
    };
    if let Some((encoding, _)) = Encoding::for_bom(head)
        && let Some(charset) = Charset::for_label(encoding.name())
    {
        return found(charset, "bom", 1.0, true);
    }
    if samples.iter().any(|s| s.contains(&0)) {
        // Line ends, commas and digits have a zero byte in UTF-16 and in no other encoding of text.
        let score = |charset: Charset| samples.iter().map(|s| utf16_plausibility(s, charset)).fold(1.0, f64::min);
        let (le, be) = (score(Charset::Utf16Le), score(Charset::Utf16Be));
        let (charset, best) = if le >= be { (Charset::Utf16Le, le) } else { (Charset::Utf16Be, be) };
        if best > 0.9 {
            return found(charset, "utf-16 pattern", best, false);
        }
        // A stray zero byte spoils its row only; many are no text.
        let zeros: usize = samples.iter().map(|s| s.iter().filter(|b| **b == 0).count()).sum();
        if 100 * zeros > samples.iter().map(Vec::len).sum() {
            return Ok(None);
        }
    }
    if samples.iter().all(|s| s.is_ascii()) {
        return found(Charset::Utf8, "ascii", 1.0, false);
    }
    // Chance makes GBK text look like UTF-8 only in fragments: a few broken characters leave it UTF-8.
    let utf8 = well_formed(Charset::Utf8, samples);
    if utf8 > 0.9 {
        return found(Charset::Utf8, if utf8 == 1.0 { "valid" } else { "guessed" }, utf8, false);
    }
    let (gb, big5) = (commonness(Charset::Gb18030, samples), commonness(Charset::Big5, samples));
    let (charset, sure) = if (gb - big5).abs() > 0.02 {
        if gb > big5 { (Charset::Gb18030, gb) } else { (Charset::Big5, big5) }
    } else {
        let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
        for sample in samples {
            detector.feed(sample, false);
        }
        detector.feed(b"", true);
        let guess = detector.guess(None, chardetng::Utf8Detection::Deny);
        if guess == BIG5 { (Charset::Big5, big5) } else { (Charset::Gb18030, gb) }
    };
    if well_formed(charset, samples) < 0.9 {
        return Ok(None);
    }
    found(charset, "guessed", sure.max(0.0), false)
}

/// Windows of the file, each from a line's beginning to a line's end where it has any.
fn sample(file: &mut (impl Read + Seek)) -> Result<Vec<Vec<u8>>> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut samples = vec![window(file, 0)?];
    let step = size / (WINDOWS + 1);
    if step > WINDOW as u64 {
        for i in 1..=WINDOWS {
            // Even places, so that UTF-16 is not cut between the bytes of a unit.
            samples.push(window(file, (i * step) & !1)?);
        }
    }
    if samples.iter().all(|s| s.is_ascii()) && size > WINDOW as u64 {
        samples.extend(first_beyond_ascii(file)?);
    }
    file.seek(SeekFrom::Start(0))?;
    let utf16 = samples.iter().any(|s| s.contains(&0));
    let last = samples.len() - 1;
    for (i, sample) in samples.iter_mut().enumerate() {
        let covered = size <= WINDOW as u64;
        if covered || utf16 {
            continue;
        }
        if i > 0
            && let Some(first) = sample.iter().position(|b| *b == b'\n')
        {
            sample.drain(..=first);
        }
        if sample.len() >= WINDOW / 2 || i < last {
            let end = sample.iter().rposition(|b| *b == b'\n').map_or(sample.len(), |n| n + 1);
            sample.truncate(end);
        }
    }
    Ok(samples)
}

fn window(file: &mut (impl Read + Seek), at: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::with_capacity(WINDOW);
    file.take(WINDOW as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The window around the first byte that is not ASCII.
fn first_beyond_ascii(file: &mut (impl Read + Seek)) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?;
    let mut buffer = vec![0; WINDOW];
    let mut at = 0;
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok(None);
        }
        if let Some(i) = buffer[..n].iter().position(|b| !b.is_ascii()) {
            // Half a window of ASCII before it makes the window begin on a line.
            return window(file, (at + i as u64).saturating_sub(WINDOW as u64 / 2)).map(Some);
        }
        at += n as u64;
    }
}

/// Share of the non-ASCII characters that are well-formed. A character cut at a window's end does not count.
fn well_formed(charset: Charset, samples: &[Vec<u8>]) -> f64 {
    let (mut good, mut bad) = (0u64, 0u64);
    for sample in samples {
        let text = charset.encoding().decode_without_bom_handling(sample).0;
        let broken = text.trim_end_matches('\u{fffd}').matches('\u{fffd}').count() as u64;
        bad += broken;
        good += (text.chars().filter(|c| !c.is_ascii()).count() as u64).saturating_sub(broken);
    }
    if good + bad == 0 { 1.0 } else { good as f64 / (good + bad) as f64 }
}

/// The most frequent characters of modern Chinese and of its finance pages, simplified, then traditional.
const COMMON: &str = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方\
    后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些\
    然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系\
    军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她\
    手角期根论运农指几九区强放决西被干做必战先回则任取据处市股票证券价金融银报投元亿万净润增营收率季涨跌司\
    這個國為來時們對會發動過說種後學經進電實現體當點從業開還與關間樣長數質氣變條結題黨員總設頭資邊統論運農強決幹戰則據處證價銀\
    報投億萬淨潤營漲";

/// Share of the Chinese characters that are common ones, less the share of broken characters: some 0.5 in the right encoding and under
/// 0.1 in the wrong one.
fn commonness(charset: Charset, samples: &[Vec<u8>]) -> f64 {
    let common: std::collections::BTreeSet<char> = COMMON.chars().filter(|c| !c.is_whitespace()).collect();
    let (mut hit, mut all, mut broken) = (0u64, 0u64, 0u64);
    for sample in samples {
        for c in charset.encoding().decode_without_bom_handling(sample).0.chars().filter(|c| !c.is_ascii()) {
            all += 1;
            broken += u64::from(c == '\u{fffd}');
            hit += u64::from(
                common.contains(&c) || matches!(c, '，' | '。' | '、' | '：' | '（' | '）' | '“' | '”' | '；'),
            );
        }
    }
    if all == 0 { 0.0 } else { (hit as f64 - broken as f64) / all as f64 }
}

/// Share of the units that text in UTF-16 would have: ASCII, Chinese, its punctuation, full-width forms.
fn utf16_plausibility(sample: &[u8], charset: Charset) -> f64 {
    let units = sample.chunks_exact(2).map(|b| match charset {
        Charset::Utf16Be => u16::from_be_bytes([b[0], b[1]]),
        _ => u16::from_le_bytes([b[0], b[1]]),
    });
    let plausible = |u: u16| {
        matches!(u, 9 | 10 | 13 | 0x20..=0x7e | 0xa0..=0x24f | 0x2000..=0x22ff | 0x2460..=0x25ff | 0x3000..=0x30ff | 0x3400..=0x9fff
            | 0xd800..=0xdfff | 0xf900..=0xfaff | 0xff00..=0xffef)
    };
    let (mut good, mut all) = (0u64, 0u64);
    for unit in units {
        all += 1;
        good += u64::from(plausible(unit));
    }
    if all == 0 { 0.0 } else { good as f64 / all as f64 }
}

/// Turns UTF-16 into UTF-8 while it is read; an unpaired surrogate becomes the three bytes that UTF-8 would give it if it
/// were a character, and a lone last byte 0xFF, so that both fail strict decoding.
pub struct Utf16Reader<R> {
    input: R,
    big_endian: bool,
    bytes: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
    high: Option<u16>,
    ended: bool,
}

impl<R: Read> Utf16Reader<R> {
    pub fn new(input: R, charset: Charset) -> Utf16Reader<R> {
        let big_endian = charset == Charset::Utf16Be;
        Utf16Reader { input, big_endian, bytes: Vec::new(), ready: Vec::new(), given: 0, high: None, ended: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
        let kept = self.bytes.len();
        self.bytes.resize(kept + WINDOW, 0);
        let n = self.input.read(&mut self.bytes[kept..])?;
        self.bytes.truncate(kept + n);
        self.ended = n == 0;
        let even = self.bytes.len() & !1;
        for i in (0..even).step_by(2) {
            let pair = [self.bytes[i], self.bytes[i + 1]];
            let unit = if self.big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) };
            match (self.high.take(), unit) {
                (Some(high), 0xdc00..=0xdfff) => {
                    push_generous(
                        &mut self.ready,
                        0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00),
                    );
                }
                (high, unit) => {
                    if let Some(high) = high {
                        push_generous(&mut self.ready, high.into());
                    }
                    if (0xd800..0xdc00).contains(&unit) {
                        self.high = Some(unit);
                    } else {
                        push_generous(&mut self.ready, unit.into());
                    }
                }
            }
        }
        self.bytes.drain(..even);
        if self.ended {
            if let Some(high) = self.high.take() {
                push_generous(&mut self.ready, high.into());
            }
            if !self.bytes.is_empty() {
                // Half a unit, which no text decodes and [`Charset::original`] gives back.
                let half = self.bytes[0];
                self.bytes.clear();
                self.ready.extend([HALF, 0x80 | half >> 4, 0x80 | half & 0x0f]);
            }
        }
        Ok(())
    }
}

fn push_generous(out: &mut Vec<u8>, value: u32) {
    match char::from_u32(value) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend([0xe0 | (value >> 12) as u8, 0x80 | (value >> 6 & 0x3f) as u8, 0x80 | (value & 0x3f) as u8]),
    }
}

impl<R: Read> Read for Utf16Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if self.ended {
                return Ok(0);
            }
            self.fill()?;
        }
        let n = out.len().min(self.ready.len() - self.given);
        out[..n].copy_from_slice(&self.ready[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const SIMPLE: &str =
        "id,title,body\n1,业绩预告,公司预计上半年净利润增长，主要因为产品价格上涨。\n2,公告,董事会同意投资新的产线\n";
    const TRADITIONAL: &str =
        "id,title,body\n1,業績預告,公司預計上半年淨利潤增長，主要因為產品價格上漲。\n2,公告,董事會同意投資新的產線\n";

    fn found(bytes: &[u8]) -> (String, String) {
        let encoded = detect(&mut Cursor::new(bytes), None).unwrap();
        (encoded.name, encoded.by)
    }

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16().flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() }).collect()
    }

    #[test]
    fn each_encoding_is_told_from_its_bytes() {
        let gbk = encoding_rs::GBK.encode(SIMPLE).0.into_owned();
        let big5 = BIG5.encode(TRADITIONAL).0.into_owned();
        let bom = [b"\xef\xbb\xbf".as_slice(), SIMPLE.as_bytes()].concat();
        assert_eq!(found(SIMPLE.as_bytes()), ("UTF-8".into(), "valid".into()));
        assert_eq!(found(&bom), ("UTF-8".into(), "bom".into()));
        assert_eq!(found(b"id,body\n1,abc\n"), ("UTF-8".into(), "ascii".into()));
        assert_eq!(found(&gbk), ("gb18030".into(), "guessed".into()));
        assert_eq!(found(&big5), ("Big5".into(), "guessed".into()));
        assert_eq!(found(&utf16(SIMPLE, false)), ("UTF-16LE".into(), "utf-16 pattern".into()));
        assert_eq!(found(&utf16(SIMPLE, true)), ("UTF-16BE".into(), "utf-16 pattern".into()));
        assert_eq!(found(&utf16(&format!("\u{feff}{SIMPLE}"), false)), ("UTF-16LE".into(), "bom".into()));
    }

    #[test]
    fn gbk_after_a_long_ascii_beginning_is_found() {
        let mut bytes = b"id,body\n".to_vec();
        for i in 0..100_000 {
            bytes.extend(format!("{i},plain words\n").into_bytes());
        }
        bytes.extend(encoding_rs::GBK.encode("100000,公司的净利润大幅增长，投资者关注\n").0.iter());
        assert_eq!(found(&bytes), ("gb18030".into(), "guessed".into()));
    }

    #[test]
    fn a_few_broken_bytes_change_no_verdict() {
        let mut bytes = SIMPLE.repeat(5).into_bytes();
        bytes[60] = 0xff;
        assert_eq!(found(&bytes).0, "UTF-8");
        bytes[61] = 0;
        assert_eq!(found(&bytes).0, "UTF-8");
        let mut gbk = encoding_rs::GBK.encode(&SIMPLE.repeat(5)).0.into_owned();
        gbk[20] = 0xff;
        assert_eq!(found(&gbk).0, "gb18030");
    }

    #[test]
    fn a_declaration_that_the_bytes_contradict_is_refused() {
        let refused = |bytes: &[u8], charset| detect(&mut Cursor::new(bytes), Some(charset)).unwrap_err().to_string();
        let gbk = encoding_rs::GBK.encode(SIMPLE).0.into_owned();
        let message = refused(SIMPLE.as_bytes(), Charset::Gb18030);
        assert!(message.contains("declared gb18030, but the content looks like UTF-8"), "{message}");
        let message = refused(&gbk, Charset::Utf8);
        assert!(message.contains("declared UTF-8, but the content looks like gb18030"), "{message}");
        assert_eq!(detect(&mut Cursor::new(&gbk), Some(Charset::Gb18030)).unwrap().by, "declared");
    }

    #[test]
    fn utf16_goes_there_and_back_with_broken_pairs() {
        let mut bytes = utf16("净利润😀a", false);
        bytes.extend([0x00, 0xd8]);
        let mut text = Vec::new();
        Utf16Reader::new(bytes.as_slice(), Charset::Utf16Le).read_to_end(&mut text).unwrap();
        assert_eq!(Charset::Utf16Le.original(&text), bytes);
        assert_eq!(Charset::Utf16Le.original_len(&text), bytes.len() as u64);
        assert!(Charset::Utf16Le.decode(&text).is_none(), "an unpaired surrogate is no text");
        assert_eq!(Charset::Utf16Le.decode(&text[..text.len() - 3]).unwrap(), "净利润😀a");
    }
}
