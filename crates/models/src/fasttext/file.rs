//! fastText's binary files (`.bin`, `.ftz`), version 12 of its format; version 11 is read too.
//!
//! Little-endian: a magic number, the version, twelve whole numbers and a double of parameters, the dictionary (names end with a
//! zero byte), then the input and the output matrix, each `[rows, dim] f32` or quantised. The file does not have the rate of
//! learning nor what labels begin with. The matrices are read into memory, as fastText itself does: a file of others that was mapped
//! would end the process when it is cut short meanwhile.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::json;

use super::dictionary::Buckets;
use super::matrix::Matrix;
use super::quantiser::Quantiser;
use super::{Dictionary, FastText, FastTextParams, Form, Loss};
use crate::{ModelFile, ModelHeader, Training, write_model};
use inkstone_base::disk;
use inkstone_base::language::{Message, Word};
use inkstone_base::{bail, ensure, message};

const MAGIC: i32 = 793_712_314;
const VERSION: i32 = 12;
/// fastText's rate of updating the rate of learning, which it keeps in the file.
const RATE_UPDATES: i32 = 100;

/// Values that are read at once.
const PIECE: usize = 1 << 16;

/// True if a file begins as fastText's do.
pub fn is_fasttext(path: &Path) -> Result<bool> {
    let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
    let mut start = Vec::new();
    file.take(4).read_to_end(&mut start).with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?;
    Ok(start == MAGIC.to_le_bytes())
}

/// Bytes that are read from the front: no more than the input was long when it was opened, and no room is made for more.
struct Bytes<R> {
    input: R,
    length: usize,
    at: usize,
}

impl<R: BufRead> Bytes<R> {
    /// Fails unless there are so many bytes left.
    fn expect(&self, n: usize) -> Result<()> {
        ensure!(n <= self.length - self.at, ends(self.length, n, self.at));
        Ok(())
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        let (n, at) = (bytes.len(), self.at);
        self.expect(n)?;
        match self.input.read_exact(bytes) {
            // Somebody has cut the file short since it was opened.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => bail!(ends(at, n, at)),
            read => read?,
        }
        self.at += n;
        Ok(())
    }

    fn take(&mut self, n: usize) -> Result<Vec<u8>> {
        self.expect(n)?;
        let mut bytes = vec![0; n];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn int(&mut self) -> Result<i32> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// A whole number that cannot be below 0.
    fn count(&mut self, what: Word) -> Result<usize> {
        let (at, value) = (self.at, self.int()?);
        usize::try_from(value)
            .ok()
            .with_context(|| message!("第 {at} 字节：{what} 不能是 {value}", "byte {at}: {what} cannot be {value}"))
    }

    fn long_count(&mut self, what: Word) -> Result<usize> {
        let (at, value) = (self.at, self.long()?);
        usize::try_from(value)
            .ok()
            .with_context(|| message!("第 {at} 字节：{what} 不能是 {value}", "byte {at}: {what} cannot be {value}"))
    }

    fn flag(&mut self, what: Word) -> Result<bool> {
        let at = self.at;
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => bail!(
                "第 {at} 字节：{what} 只能为 0 或 1，不能是 {other}",
                "byte {at}: whether {what} is 0 or 1, not {other}"
            ),
        }
    }

    fn name(&mut self) -> Result<Box<str>> {
        let (at, mut name) = (self.at, Vec::new());
        let left = (self.length - at) as u64;
        self.at += self.input.by_ref().take(left).read_until(0, &mut name)?;
        ensure!(
            name.pop() == Some(0),
            "文件在第 {at} 字节的名称中间结束",
            "the file ends within the name at byte {at}"
        );
        // A name that is not UTF-8 stays as a row; no text can have it.
        Ok(String::from_utf8_lossy(&name).into())
    }

    fn floats(&mut self, n: usize) -> Result<Vec<f32>> {
        self.expect(n.checked_mul(4).context(Word("有矩阵过大", "a matrix is too large"))?)?;
        let mut values = vec![0f32; n];
        for piece in values.chunks_mut(PIECE) {
            self.fill(bytemuck::cast_slice_mut(piece))?;
            // The file is little-endian; on most machines this changes nothing.
            piece.iter_mut().for_each(|value| *value = f32::from_bits(u32::from_le(value.to_bits())));
        }
        Ok(values)
    }
}

fn ends(end: usize, n: usize, at: usize) -> Message {
    message!(
        "文件在第 {end} 字节结束，第 {at} 字节之后应还有 {n} 字节",
        "the file ends at byte {end}, {n} more were expected after byte {at}"
    )
}

impl FastText {
    /// Kind of our own files.
    pub const KIND: &str = "fasttext";
    const VERSION: u32 = 1;

    /// Reads a file of fastText.
    pub fn open(path: &Path) -> Result<FastText> {
        let file = File::open(path).with_context(|| message!("无法打开 {}", "cannot open {}", path.display()))?;
        let length =
            file.metadata().with_context(|| message!("无法读取 {}", "cannot read {}", path.display()))?.len() as usize;
        FastText::read(BufReader::with_capacity(1 << 18, file), length, false).with_context(|| {
            message!(
                "{} 不是完整的 fastText 模型，或已损坏",
                "{} is not a whole model of fastText, or is damaged",
                path.display()
            )
        })
    }

    /// Reads what [`FastText::write`] or fastText wrote, of so many bytes. `seen` says that buckets without a row count as rows of zeros.
    pub(super) fn read(input: impl BufRead, length: usize, seen: bool) -> Result<FastText> {
        let mut bytes = Bytes { input, length, at: 0 };
        ensure!(bytes.int()? == MAGIC, "它的开头不是 fastText 文件的样子", "it does not begin as fastText's files do");
        let version = bytes.int()?;
        ensure!(
            [11, VERSION].contains(&version),
            "不认识版本 {version}；支持 11 和 12",
            "version {version} is not known; 11 and 12 are"
        );
        let params = parameters(&mut bytes, version)?;
        let (dictionary, pruned) = dictionary(&mut bytes, &params, seen).context(Word("词典", "the dictionary"))?;
        let quantised = bytes.flag(Word("输入矩阵是否量化", "the input matrix is quantised"))?;
        ensure!(
            quantised || seen || !pruned,
            "桶已剪枝，而矩阵未量化；fastText 也拒绝这样的文件",
            "the buckets were pruned, but the matrix is not quantised; fastText refuses such a file too"
        );
        let input = matrix(&mut bytes, quantised).context(Word("输入矩阵", "the input matrix"))?;
        let quantised = bytes.flag(Word("输出矩阵是否量化", "the output matrix is quantised"))? && quantised;
        let output = matrix(&mut bytes, quantised).context(Word("输出矩阵", "the output matrix"))?;
        ensure!(
            bytes.at == length,
            "文件在第 {1} 字节结束后还有 {0} 字节",
            "{} bytes follow its end at byte {}",
            length - bytes.at,
            bytes.at
        );
        FastText::from_parts(params, dictionary, input, output)
    }

    /// The model of one of our own files.
    pub fn from_file(file: &ModelFile) -> Result<FastText> {
        file.expect(FastText::KIND, FastText::VERSION)?;
        let bytes = file.bytes("model")?;
        let mut model = FastText::read(bytes, bytes.len(), file.param("seen")?)
            .context(Word("它的 model 一节", "its section model"))?;
        let params: FastTextParams = file.param("fasttext")?;
        (model.params.lr, model.params.label) = (params.lr, params.label);
        model.params.min_count_label = params.min_count_label;
        Ok(model)
    }

    /// Writes one of our own files, which says how its text was cut and when it ended, and has no buckets that training never met.
    pub fn save_model(&self, path: &Path, cut: &impl Serialize, training: &Training) -> Result<()> {
        let seen = matches!(self.dictionary.buckets, Buckets::Seen(_));
        let header = ModelHeader {
            kind: FastText::KIND.to_owned(),
            version: FastText::VERSION,
            fitted_until: training.fitted_until,
            documents: training.documents,
            params: json!({"cut": cut, "method": training.method, "seen": seen, "fasttext": self.params, "training": training.params}),
        };
        let mut bytes = Vec::new();
        self.write(&mut bytes, true)?;
        write_model(path, &header, &[("model", &bytes)])
    }

    /// Writes a file of fastText, which has all buckets, as far as they were not pruned.
    pub fn save(&self, path: &Path) -> Result<()> {
        disk::write_atomic(path, |out| self.write(out, false))
    }

    /// Writes the model; `compact`: without the buckets that training never met, as only [`FastText::read`] with `seen` takes it.
    pub(super) fn write(&self, out: &mut impl Write, compact: bool) -> Result<()> {
        let p = &self.params;
        let int = |value: usize| {
            i32::try_from(value)
                .context(Word("有参数超出 fastText 文件所能记", "a parameter is too large for fastText's file"))
        };
        let (window, epochs, negative, ngrams) =
            (int(p.window)?, int(p.epochs)?, int(p.negative)?, int(p.word_ngrams)?);
        let min_count = int(usize::try_from(p.min_count)?)?;
        let (form, loss, bucket, minn, maxn) =
            (p.form as i32, p.loss as i32, p.bucket as i32, int(p.minn)?, int(p.maxn)?);
        let args =
            [int(p.dim)?, window, epochs, min_count, negative, ngrams, loss, form, bucket, minn, maxn, RATE_UPDATES];
        for value in [MAGIC, VERSION].iter().chain(&args) {
            out.write_all(&value.to_le_bytes())?;
        }
        out.write_all(&p.sample.to_le_bytes())?;
        self.write_dictionary(out, compact)?;
        out.write_all(&[u8::from(self.input.is_quantised())])?;
        match &self.dictionary.buckets {
            Buckets::Seen(map) if !compact => self.write_all_buckets(map, out)?,
            _ => write_matrix(&self.input, out)?,
        }
        out.write_all(&[u8::from(self.output.is_quantised())])?;
        write_matrix(&self.output, out)
    }

    fn write_dictionary(&self, out: &mut impl Write, compact: bool) -> Result<()> {
        let d = &self.dictionary;
        let (words, labels) = (d.words().len(), d.labels().len());
        for count in [words + labels, words, labels] {
            out.write_all(&i32::try_from(count).context(Word("词过多", "too many words"))?.to_le_bytes())?;
        }
        out.write_all(&(d.tokens as i64).to_le_bytes())?;
        let pruned = match &d.buckets {
            Buckets::Pruned(map) => Some(map),
            Buckets::Seen(map) if compact => Some(map),
            Buckets::All | Buckets::Seen(_) => None,
        };
        out.write_all(&pruned.map_or(-1, |map| map.len() as i64).to_le_bytes())?;
        let names = [(d.words(), d.word_counts(), 0u8), (d.labels(), d.label_counts(), 1)];
        for (names, counts, kind) in names {
            for (name, count) in names.iter().zip(counts) {
                ensure!(
                    !name.contains('\0'),
                    "名称 {name:?} 无法写出：fastText 文件中名称以该字节结尾",
                    "the name {name:?} cannot be written: in fastText's file names end with that byte"
                );
                out.write_all(name.as_bytes())?;
                out.write_all(&[0])?;
                out.write_all(&(*count as i64).to_le_bytes())?;
                out.write_all(&[kind])?;
            }
        }
        for (bucket, row) in pruned.map(in_order).unwrap_or_default() {
            out.write_all(&(bucket as i32).to_le_bytes())?;
            out.write_all(&(row as i32).to_le_bytes())?;
        }
        Ok(())
    }

    /// The input matrix with rows of zeros for all buckets that training never met.
    fn write_all_buckets(&self, map: &FxHashMap<u32, u32>, out: &mut impl Write) -> Result<()> {
        let (dim, words) = (self.params.dim, self.dictionary.words().len());
        let zeros = vec![0; dim * 4];
        out.write_all(&((words + self.params.bucket as usize) as i64).to_le_bytes())?;
        out.write_all(&(dim as i64).to_le_bytes())?;
        for word in 0..words as u32 {
            out.write_all(bytemuck::cast_slice(&self.input.row(word)))?;
        }
        for bucket in 0..self.params.bucket {
            match map.get(&bucket) {
                Some(row) => out.write_all(bytemuck::cast_slice(&self.input.row(words as u32 + row)))?,
                None => out.write_all(&zeros)?,
            }
        }
        Ok(())
    }
}

/// Buckets and their rows, by row.
fn in_order(map: &FxHashMap<u32, u32>) -> Vec<(u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = map.iter().map(|(&bucket, &row)| (bucket, row)).collect();
    pairs.sort_unstable_by_key(|&(bucket, row)| (row, bucket));
    pairs
}

fn parameters(bytes: &mut Bytes<impl BufRead>, version: i32) -> Result<FastTextParams> {
    let dim = bytes.count(Word("维数", "the dimension"))?;
    let window = bytes.count(Word("窗口", "the window"))?;
    let epochs = bytes.count(Word("轮数", "the number of epochs"))?;
    let min_count = bytes.count(Word("最低频数", "the least count"))? as u64;
    let negative = bytes.count(Word("负采样数", "the number of negative samples"))?;
    let word_ngrams = bytes.count(Word("词 n 元组长度", "the length of word n-grams"))?;
    let at = bytes.at;
    let loss = match bytes.int()? {
        1 => Loss::Hs,
        2 => Loss::Ns,
        3 => Loss::Softmax,
        4 => Loss::Ova,
        other => bail!("第 {at} 字节：没有损失函数 {other}", "byte {at}: there is no loss {other}"),
    };
    let at = bytes.at;
    let form = match bytes.int()? {
        1 => Form::Cbow,
        2 => Form::Skipgram,
        3 => Form::Supervised,
        other => bail!("第 {at} 字节：没有模型 {other}", "byte {at}: there is no model {other}"),
    };
    let bucket = bytes.count(Word("桶数", "the number of buckets"))? as u32;
    let minn = bytes.count(Word("最短 n 元组", "the shortest n-gram"))?;
    // Supervised models of the older version had no character n-grams, whatever their file says.
    let maxn =
        bytes.count(Word("最长 n 元组", "the longest n-gram"))? * usize::from(version > 11 || form != Form::Supervised);
    bytes.int()?;
    let sample = f64::from_le_bytes(bytes.array()?);
    ensure!(dim > 0, "维数不能为 0", "the dimension cannot be 0");
    let lr = FastTextParams::default().lr;
    let params = FastTextParams {
        form,
        loss,
        dim,
        window,
        epochs,
        min_count,
        negative,
        word_ngrams,
        bucket,
        minn,
        maxn,
        sample,
        lr,
        ..FastTextParams::default()
    };
    Ok(params)
}

fn dictionary(bytes: &mut Bytes<impl BufRead>, params: &FastTextParams, seen: bool) -> Result<(Dictionary, bool)> {
    let at = bytes.at;
    let (size, words, labels) = (
        bytes.count(Word("大小", "its size"))?,
        bytes.count(Word("词数", "the number of words"))?,
        bytes.count(Word("标签数", "the number of labels"))?,
    );
    ensure!(
        words.checked_add(labels) == Some(size),
        "第 {at} 字节：{words} 个词与 {labels} 个标签之和不是 {size}",
        "byte {at}: {words} words and {labels} labels are not {size}"
    );
    let tokens = bytes.long_count(Word("词元数", "the number of tokens"))? as u64;
    let at = bytes.at;
    let pruned = bytes.long()?;
    ensure!(
        pruned >= -1 && pruned <= i64::from(params.bucket),
        "第 {at} 字节：{} 个桶中不能保留 {pruned} 个",
        "byte {at}: {pruned} of {} buckets cannot be kept",
        params.bucket
    );
    ensure!(
        size <= bytes.length / 10,
        "第 {at} 字节：文件太短，容不下 {size} 个词",
        "byte {at}: the file is too short for {size} words"
    );
    let (mut names, mut counts) = (Vec::with_capacity(size), Vec::with_capacity(size));
    for i in 0..size {
        let at = bytes.at;
        let name = bytes.name().with_context(|| message!("第 {} 个词（共 {size} 个）", "word {} of {size}", i + 1))?;
        counts.push(bytes.long_count(Word("计数", "a count"))? as u64);
        let [kind] = bytes.array()?;
        ensure!(
            kind == u8::from(i >= words),
            "第 {at} 字节：第 {} 个名称 {name:?}（共 {size} 个）种类为 {kind}，次序不对",
            "byte {at}: {name:?}, name {} of {size}, has kind {kind} out of its order",
            i + 1
        );
        names.push(name);
    }
    let buckets = if pruned < 0 {
        Buckets::All
    } else {
        let mut map = FxHashMap::default();
        for _ in 0..pruned {
            let at = bytes.at;
            let (bucket, row) = (bytes.count(Word("桶", "a bucket"))? as u32, bytes.count(Word("行", "a row"))? as u32);
            ensure!(
                bucket < params.bucket && i64::from(row) < pruned,
                "第 {at} 字节：桶 {bucket} 不能是 {pruned} 行中的第 {row} 行",
                "byte {at}: bucket {bucket} cannot have row {row} of {pruned}"
            );
            map.insert(bucket, row);
        }
        ensure!(map.len() as i64 == pruned, "有桶对应两行", "a bucket has two rows");
        if seen { Buckets::Seen(map) } else { Buckets::Pruned(map) }
    };
    Ok((Dictionary::from_parts(names, counts, words, tokens, buckets, params)?, pruned >= 0))
}

fn matrix(bytes: &mut Bytes<impl BufRead>, quantised: bool) -> Result<Matrix> {
    let norms_apart = quantised && bytes.flag(Word("长度是否分开", "lengths are apart"))?;
    let at = bytes.at;
    let (rows, dim) =
        (bytes.long_count(Word("行数", "the number of rows"))?, bytes.long_count(Word("维数", "the dimension"))?);
    ensure!(
        dim > 0 && dim <= 1 << 20,
        "第 {at} 字节：一行不能有 {dim} 个值",
        "byte {at}: a row cannot have {dim} values"
    );
    if !quantised {
        let cells = rows
            .checked_mul(dim)
            .with_context(|| message!("第 {at} 字节：{rows} 行过多", "byte {at}: {rows} rows are too many"))?;
        return Ok(Matrix::Dense { rows, dim, values: bytes.floats(cells)? });
    }
    let size = bytes.count(Word("码数", "the number of codes"))?;
    let codes = bytes.take(size)?;
    let quantiser = quantiser(bytes)?;
    ensure!(
        quantiser.dim() == dim && rows.checked_mul(quantiser.parts()) == Some(size),
        "第 {at} 字节：{size} 个码不能组成 {rows} 行 {dim} 维、分为 {} 段的值",
        "byte {at}: {size} codes do not make {rows} rows of {dim} values in {} parts",
        quantiser.parts()
    );
    let norms = match norms_apart {
        true => Some((bytes.take(rows)?, self::quantiser(bytes)?)),
        false => None,
    };
    ensure!(
        norms.as_ref().is_none_or(|(_, quantiser)| quantiser.dim() == 1),
        "第 {at} 字节：长度应为一个值",
        "byte {at}: lengths have one value"
    );
    Ok(Matrix::Quantised { rows, codes, quantiser, norms })
}

fn quantiser(bytes: &mut Bytes<impl BufRead>) -> Result<Quantiser> {
    let at = bytes.at;
    let mut number = || bytes.count(Word("量化器的大小", "a size of the quantiser"));
    let (dim, parts, width, last) = (number()?, number()?, number()?, number()?);
    ensure!(
        (1..=1 << 20).contains(&dim),
        "第 {at} 字节：不能有 {dim} 维的量化器",
        "byte {at}: a quantiser of {dim} values cannot be"
    );
    let quantiser =
        Quantiser::new(dim, width, bytes.floats(dim * 256)?).with_context(|| message!("第 {at} 字节", "byte {at}"))?;
    let rest = dim - (quantiser.parts() - 1) * width;
    ensure!(
        parts == quantiser.parts() && last == rest,
        "第 {at} 字节：{dim} 维按 {width} 分段，不是 {parts} 段、末段 {last}",
        "byte {at}: {dim} values in parts of {width} are not {parts} parts, the last of {last}"
    );
    Ok(quantiser)
}

fn write_matrix(matrix: &Matrix, out: &mut impl Write) -> Result<()> {
    let sizes = |out: &mut dyn Write| -> Result<()> {
        out.write_all(&(matrix.rows() as i64).to_le_bytes())?;
        Ok(out.write_all(&(matrix.dim() as i64).to_le_bytes())?)
    };
    match matrix {
        Matrix::Dense { values, .. } => {
            sizes(out)?;
            out.write_all(bytemuck::cast_slice(values))?;
        }
        Matrix::Quantised { codes, quantiser, norms, .. } => {
            out.write_all(&[u8::from(norms.is_some())])?;
            sizes(out)?;
            out.write_all(
                &i32::try_from(codes.len())
                    .context(Word("行数超出量化文件所能记", "too many rows for a quantised file"))?
                    .to_le_bytes(),
            )?;
            out.write_all(codes)?;
            write_quantiser(quantiser, out)?;
            if let Some((codes, quantiser)) = norms {
                out.write_all(codes)?;
                write_quantiser(quantiser, out)?;
            }
        }
    }
    Ok(())
}

fn write_quantiser(quantiser: &Quantiser, out: &mut impl Write) -> Result<()> {
    let (dim, parts, width) = (quantiser.dim(), quantiser.parts(), quantiser.width());
    for value in [dim, parts, width, dim - (parts - 1) * width] {
        out.write_all(&i32::try_from(value)?.to_le_bytes())?;
    }
    Ok(out.write_all(bytemuck::cast_slice(quantiser.centroids()))?)
}
