//! Frames and series of pandas from pickles, as Qlib's recorder keeps them, without running what a pickle asks for.
//!
//! Read are blocks of floating and whole numbers, indexes of times, texts and ranges, and their products. pandas 1 to 3 and protocols 0 to 5 are
//! understood; a compressed pickle is not.

mod machine;

use std::path::Path;

use anyhow::{Context, Result};
use chrono::DateTime;
use polars_core::prelude::{Column, DataFrame, IntoColumn, NamedFrom, Series};

use self::machine::{Node, NodeId, Nodes, unpickled};
use inkstone_base::language::Word;
use inkstone_base::{bail, ensure, message};
use inkstone_base::{disk, limits};
use inkstone_tables::frames;

/// Bytes of a text of an index, which is a code or a date.
const LONGEST_TEXT: usize = 100;

/// Reads a frame or a series with its index as the first columns. Columns that are no numbers are left out.
pub(super) fn read_frame(path: &Path) -> Result<DataFrame> {
    frame(&disk::snapshot(path)?).with_context(|| {
        message!("{} 不是数值数据框的 pickle", "{} is not a pickle of a frame of numbers", path.display())
    })
}

fn frame(bytes: &[u8]) -> Result<DataFrame> {
    let (nodes, top) = unpickled(bytes)?;
    let manager = match nodes.name_of(top)?.as_str() {
        "DataFrame" | "Series" => nodes.field(nodes.state(top)?, &["_mgr", "_data"])?,
        other => bail!(
            "它是 {other}，既不是 DataFrame 也不是 Series",
            "it is a {other}, and neither a DataFrame nor a Series"
        ),
    };
    let name = nodes.field(nodes.state(top)?, &["_name", "name"]).ok().and_then(|name| nodes.text(name).ok());
    // pandas 1.3 and later gives blocks and axes as arguments, earlier versions as a state.
    let arguments = nodes.list(nodes.arguments(manager)?)?;
    let (axes, blocks) = match arguments {
        [blocks, axes, ..] => (*axes, nodes.list(*blocks).map_or_else(|_| vec![*blocks], <[NodeId]>::to_vec)),
        _ => {
            let state = nodes.list(nodes.state(manager)?)?;
            let kept = nodes.field(
                *state.get(3).context(Word("数据框的状态没有数据块", "the state of the frame has no blocks"))?,
                &["0.14.1"],
            )?;
            (nodes.field(kept, &["axes"])?, nodes.list(nodes.field(kept, &["blocks"])?)?.to_vec())
        }
    };
    let axes = nodes.list(axes)?.to_vec();
    let rows = *axes.last().context(Word("数据框没有索引", "the frame has no index"))?;
    let index = nodes.index(rows)?;
    let height = index.first().map_or(0, |column| column.1.len());
    let names: Vec<String> = match axes[..] {
        [_] => vec![name.unwrap_or_else(|| "score".to_owned())],
        [columns, _] => nodes.index(columns)?.pop().map_or(Vec::new(), |(_, values)| values.texts()),
        _ => bail!("数据框有 {} 个轴", "the frame has {} axes", axes.len()),
    };
    let mut columns: Vec<Column> = Vec::new();
    for (number, (name, values)) in index.into_iter().enumerate() {
        let name = name.unwrap_or_else(|| {
            ["datetime", "instrument"].get(number).map_or(format!("index_{number}"), |n| (*n).to_owned())
        });
        columns.push(values.column(&name));
    }
    for block in blocks {
        let (values, places) = match nodes.node(block) {
            Node::Call { arguments, .. } => (nodes.list(*arguments)?[0], nodes.list(*arguments)?.get(1).copied()),
            _ => (nodes.field(block, &["values"])?, Some(nodes.field(block, &["mgr_locs"])?)),
        };
        // Texts and times beside the numbers are no values of a factor.
        let Ok((ArrayValues::Numbers(values), shape, is_fortran)) = nodes.array(values) else { continue };
        let places = if axes.len() == 1 {
            vec![0]
        } else {
            nodes.places(places.context(Word("有数据块没有位置", "a block has no places"))?)?
        };
        ensure!(
            values.len() == places.len() * height,
            "形状为 {shape:?} 的数据块没有填满 {height} 行",
            "a block of shape {shape:?} does not fill its {height} rows"
        );
        for (row, place) in places.iter().enumerate() {
            let n = places.len();
            let of_row = |k: usize| if is_fortran { values[k * n + row] } else { values[row * height + k] };
            let name =
                names.get(*place).context(Word("有数据块的列没有名称", "a block has a column without a name"))?;
            columns
                .push(Series::new(name.as_str().into(), (0..height).map(of_row).collect::<Vec<f64>>()).into_column());
        }
    }
    ensure!(
        columns.len() <= limits::COLUMNS,
        "它有 {} 列；最多读取 {} 列",
        "it has {} columns; at most {} are read",
        columns.len(),
        limits::COLUMNS
    );
    frames::frame(columns)
}

/// Values of an array of numpy, or of a level of an index.
enum ArrayValues {
    Numbers(Vec<f64>),
    Texts(Vec<Option<String>>),
    /// Microseconds since 1970.
    Times(Vec<Option<i64>>),
}

impl ArrayValues {
    fn len(&self) -> usize {
        match self {
            ArrayValues::Numbers(values) => values.len(),
            ArrayValues::Texts(values) => values.len(),
            ArrayValues::Times(values) => values.len(),
        }
    }

    /// The values at these places; a place of -1 is a missing value.
    fn taken(&self, places: &[f64]) -> Result<ArrayValues> {
        let within = |place: &&f64| **place < self.len() as f64;
        ensure!(
            places.iter().all(|place| within(&place)),
            "有索引超出 {} 个值",
            "an index points past its {} values",
            self.len()
        );
        if let ArrayValues::Texts(values) = self {
            let longest = values.iter().flatten().map(String::len).max().unwrap_or(0);
            ensure!(
                longest <= LONGEST_TEXT,
                "有文本长 {longest} 字节；最多读取 {LONGEST_TEXT} 字节",
                "a text has {longest} bytes; at most {LONGEST_TEXT} are read"
            );
        }
        fn at<T: Clone>(values: &[T], place: f64, none: T) -> T {
            if place < 0.0 { none } else { values[place as usize].clone() }
        }
        Ok(match self {
            ArrayValues::Numbers(values) => {
                ArrayValues::Numbers(places.iter().map(|p| at(values, *p, f64::NAN)).collect())
            }
            ArrayValues::Texts(values) => ArrayValues::Texts(places.iter().map(|p| at(values, *p, None)).collect()),
            ArrayValues::Times(values) => ArrayValues::Times(places.iter().map(|p| at(values, *p, None)).collect()),
        })
    }

    fn texts(&self) -> Vec<String> {
        match self {
            ArrayValues::Numbers(values) => values.iter().map(ToString::to_string).collect(),
            ArrayValues::Texts(values) => values.iter().map(|text| text.clone().unwrap_or_default()).collect(),
            ArrayValues::Times(values) => values.iter().map(|time| shown_time(*time).unwrap_or_default()).collect(),
        }
    }

    fn column(self, name: &str) -> Column {
        match self {
            ArrayValues::Numbers(values) => Series::new(name.into(), values),
            ArrayValues::Texts(values) => Series::new(name.into(), values),
            ArrayValues::Times(values) => {
                Series::new(name.into(), values.into_iter().map(shown_time).collect::<Vec<Option<String>>>())
            }
        }
        .into_column()
    }
}

fn shown_time(micros: Option<i64>) -> Option<String> {
    let time = DateTime::from_timestamp_micros(micros?)?;
    Some(time.format("%Y-%m-%d %H:%M:%S").to_string())
}

impl Nodes<'_> {
    /// Last part of the name of the class or function that makes an object.
    fn name_of(&self, id: NodeId) -> Result<String> {
        let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        match self.node(id) {
            Node::Global(name) => Ok(last(name)),
            Node::Call { function, arguments, .. } => match self.node(*function) {
                // `copyreg._reconstructor(class, ...)` makes an object of the class.
                Node::Global(name) if last(name) == "_reconstructor" => self.name_of(self.list(*arguments)?[0]),
                _ => self.name_of(*function),
            },
            other => bail!("应为对象，而不是 {other:?}", "an object is expected, not {other:?}"),
        }
    }

    fn arguments(&self, id: NodeId) -> Result<NodeId> {
        match self.node(id) {
            Node::Call { arguments, .. } => Ok(*arguments),
            other => bail!("应为对象，而不是 {other:?}", "an object is expected, not {other:?}"),
        }
    }

    fn state(&self, id: NodeId) -> Result<NodeId> {
        match self.node(id) {
            Node::Call { state: Some(state), .. } => Ok(*state),
            _ => bail!("pickle 中有对象没有状态", "an object of the pickle has no state"),
        }
    }

    fn list(&self, id: NodeId) -> Result<&[NodeId]> {
        match self.node(id) {
            Node::List(items) => Ok(items),
            // FrozenList(list)
            Node::Call { arguments, .. } if self.name_of(id)? == "FrozenList" => {
                self.list(*self.list(*arguments)?.first().context(Word("列表没有项", "a list has no items"))?)
            }
            other => bail!("应为列表，而不是 {other:?}", "a list is expected, not {other:?}"),
        }
    }

    fn field(&self, id: NodeId, names: &[&str]) -> Result<NodeId> {
        let Node::Dict(fields) = self.node(id) else { bail!("应为字典", "a dictionary is expected") };
        let is_named = |key: &NodeId| self.text(*key).is_ok_and(|key| names.contains(&key.as_str()));
        let found = fields.iter().find(|(key, _)| is_named(key)).map(|(_, value)| *value);
        found.with_context(|| message!("没有字段 {}", "there is no field {}", names.join(" or ")))
    }

    fn text(&self, id: NodeId) -> Result<String> {
        match self.node(id) {
            Node::Text(text) => Ok(text.clone()),
            Node::Int(number) => Ok(number.to_string()),
            Node::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            other => bail!("应为文本，而不是 {other:?}", "a text is expected, not {other:?}"),
        }
    }

    fn int(&self, id: NodeId) -> Result<i64> {
        match self.node(id) {
            Node::Int(number) => Ok(*number),
            other => bail!("应为整数，而不是 {other:?}", "a whole number is expected, not {other:?}"),
        }
    }

    /// Numbers of the columns of a block: a slice, or an array.
    fn places(&self, id: NodeId) -> Result<Vec<usize>> {
        if self.name_of(id)? != "slice" {
            let ArrayValues::Numbers(places) = self.array(id)?.0 else {
                bail!("列的位置不是数字", "places of columns are no numbers")
            };
            return Ok(places.into_iter().map(|place| place as usize).collect());
        }
        let [from, to, step] = self.list(self.arguments(id)?)? else {
            bail!("切片应有三个界", "a slice has three bounds")
        };
        let step = self.int(*step).unwrap_or(1).max(1) as usize;
        let (from, to) = (usize::try_from(self.int(*from)?)?, usize::try_from(self.int(*to)?)?);
        ensure!(
            to <= limits::COLUMNS,
            "数据框有 {to} 列；最多读取 {} 列",
            "the frame has {to} columns; at most {} are read",
            limits::COLUMNS
        );
        Ok((from..to).step_by(step).collect())
    }

    /// Columns of an index, each with its name.
    fn index(&self, id: NodeId) -> Result<Vec<(Option<String>, ArrayValues)>> {
        self.look()?;
        let arguments = self.list(self.arguments(id)?)?;
        let [class, fields, ..] = arguments else { bail!("索引没有字段", "an index has no fields") };
        let (class, fields) = (self.name_of(*class)?, *fields);
        let named = |id: NodeId| self.text(id).ok();
        match class.as_str() {
            "MultiIndex" => {
                let levels = self.list(self.field(fields, &["levels"])?)?;
                let codes = self.list(self.field(fields, &["codes", "labels"])?)?;
                let names = self.list(self.field(fields, &["names"])?)?;
                let mut columns = Vec::new();
                for ((level, codes), name) in levels.iter().zip(codes).zip(names) {
                    let level =
                        self.index(*level)?.pop().context(Word("索引有一级是空的", "a level of the index is empty"))?.1;
                    let ArrayValues::Numbers(codes) = self.array(*codes)?.0 else {
                        bail!("索引没有位置", "an index has no places")
                    };
                    columns.push((named(*name), level.taken(&codes)?));
                }
                Ok(columns)
            }
            "RangeIndex" => {
                let bound = |name: &str| self.field(fields, &[name]).and_then(|id| self.int(id));
                let (from, to, step) = (bound("start")?, bound("stop")?, bound("step")?.max(1));
                // A row takes a byte or more.
                ensure!(
                    to.saturating_sub(from) / step <= self.size as i64,
                    "{from} 到 {to} 的索引行数超过 pickle 的字节数",
                    "an index of {from} to {to} has more rows than the pickle has bytes"
                );
                let values = (from..to).step_by(step as usize).map(|n| n as f64).collect();
                Ok(vec![(self.field(fields, &["name"]).ok().and_then(named), ArrayValues::Numbers(values))])
            }
            _ => {
                let values = self.array(self.field(fields, &["data"])?)?.0;
                Ok(vec![(self.field(fields, &["name"]).ok().and_then(named), values)])
            }
        }
    }

    /// An array of numpy, pandas or Arrow: its values, its shape, and whether its first axis runs fastest.
    fn array(&self, id: NodeId) -> Result<(ArrayValues, Vec<usize>, bool)> {
        self.look()?;
        match self.name_of(id)?.as_str() {
            "_frombuffer" => {
                let [buffer, dtype, shape, order] = self.list(self.arguments(id)?)? else {
                    bail!("数组没有缓冲区", "an array has no buffer")
                };
                let values = self.values(*buffer, *dtype)?;
                Ok((values, self.shape(*shape)?, self.text(*order).is_ok_and(|order| order == "F")))
            }
            "_reconstruct" => {
                let [_, shape, dtype, fortran, data] = self.list(self.state(id)?)? else {
                    bail!("数组没有数据", "an array has no data")
                };
                let fortran = matches!(self.node(*fortran), Node::Bool(true));
                Ok((self.values(*data, *dtype)?, self.shape(*shape)?, fortran))
            }
            // A state of (dtype, array, ...) or of the fields of the object.
            "__pyx_unpickle_NDArrayBacked" | "DatetimeArray" | "StringArray" => match self.node(self.state(id)?) {
                Node::List(parts) => {
                    let arrays = parts.iter().filter_map(|part| self.array(*part).ok());
                    arrays.last().context(Word("pandas 数组没有值", "an array of pandas has no values"))
                }
                _ => self.array(self.field(self.state(id)?, &["_ndarray", "_data"])?),
            },
            "ArrowStringArray" => {
                let values = self.arrow_texts(self.field(self.state(id)?, &["_pa_array", "_data"])?)?;
                Ok((ArrayValues::Texts(values), Vec::new(), false))
            }
            other => bail!("{other} 不是数值、时间或文本的数组", "{other} is no array of numbers, times or texts"),
        }
    }

    fn shape(&self, id: NodeId) -> Result<Vec<usize>> {
        self.list(id)?.iter().map(|n| Ok(usize::try_from(self.int(*n)?)?)).collect()
    }

    /// Values of a buffer, or of a list of objects.
    fn values(&self, data: NodeId, dtype: NodeId) -> Result<ArrayValues> {
        let kind = self.text(
            *self.list(self.arguments(dtype)?)?.first().context(Word("dtype 没有名称", "a dtype has no name"))?,
        )?;
        if let Node::List(items) = self.node(data) {
            let text = |id: &NodeId| match self.node(*id) {
                Node::None | Node::Float => Ok(None),
                _ => self.text(*id).map(Some),
            };
            return Ok(ArrayValues::Texts(items.iter().map(text).collect::<Result<_>>()?));
        }
        let Node::Bytes(bytes) = self.node(data) else {
            bail!(
                "数组的数值不是字节：请用协议 3 或更高版本写 pickle",
                "the numbers of an array are no bytes: write the pickle with protocol 3 or later"
            )
        };
        let state = self.state(dtype).and_then(|state| self.list(state)).unwrap_or_default();
        ensure!(
            state.get(1).is_none_or(|order| self.text(*order).map_or(true, |order| order != ">")),
            "数组的数值是大端序",
            "the numbers of an array are big-endian"
        );
        fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
            bytes.as_chunks::<N>().0.iter().map(|chunk| number(*chunk)).collect()
        }
        let kind = kind.trim_start_matches(['<', '|', '=']);
        Ok(ArrayValues::Numbers(match kind {
            "f8" => each(bytes, f64::from_le_bytes),
            "f4" => each(bytes, |b| f64::from(f32::from_le_bytes(b))),
            "i8" => each(bytes, |b| i64::from_le_bytes(b) as f64),
            "i4" => each(bytes, |b| f64::from(i32::from_le_bytes(b))),
            "i2" => each(bytes, |b| f64::from(i16::from_le_bytes(b))),
            "i1" => each(bytes, |b| f64::from(i8::from_le_bytes(b))),
            "b1" | "u1" => each(bytes, |b: [u8; 1]| f64::from(b[0])),
            kind if kind.starts_with("M8") => {
                let unit = self.time_unit(kind, state);
                let micros = |n: i64| {
                    (n != i64::MIN).then(|| match unit {
                        "ns" => n.div_euclid(1000),
                        "ms" => n.saturating_mul(1000),
                        "s" => n.saturating_mul(1_000_000),
                        _ => n,
                    })
                };
                let times = bytes.as_chunks::<8>().0.iter().map(|chunk| micros(i64::from_le_bytes(*chunk)));
                return Ok(ArrayValues::Times(times.collect()));
            }
            other => bail!("数组的值为 {other:?} 类", "an array has values of the kind {other:?}"),
        }))
    }

    /// Unit of an array of times, from the name of its dtype (`M8[ns]`) or the metadata in the dtype's state.
    fn time_unit(&self, kind: &str, state: &[NodeId]) -> &'static str {
        let units = ["ns", "us", "ms", "s"];
        if let Some(unit) = units.into_iter().find(|unit| kind.ends_with(&format!("[{unit}]"))) {
            return unit;
        }
        let mut open: Vec<NodeId> = state.to_vec();
        while let Some(id) = open.pop().filter(|_| self.look().is_ok()) {
            match self.node(id) {
                Node::List(items) => open.extend(items),
                Node::Text(_) | Node::Bytes(_) => {
                    let text = self.text(id).unwrap_or_default();
                    if let Some(unit) = units.into_iter().find(|unit| *unit == text) {
                        return unit;
                    }
                }
                Node::Call { arguments, .. } => open.push(*arguments),
                _ => {}
            }
        }
        "ns"
    }

    /// Texts of an array of Arrow: `_restore_array((type, length, nulls, offset, [validity, ends, bytes], ...))`, or chunks of these.
    fn arrow_texts(&self, id: NodeId) -> Result<Vec<Option<String>>> {
        self.look()?;
        let arguments = self.list(self.arguments(id)?)?;
        if self.name_of(id)? == "chunked_array" {
            let chunks = self.list(arguments[0])?.iter().map(|chunk| self.arrow_texts(*chunk));
            return Ok(chunks.collect::<Result<Vec<_>>>()?.concat());
        }
        let parts = self.list(arguments[0]).unwrap_or(arguments);
        let [kind, length, _, offset, buffers, ..] = parts else {
            bail!("文本数组没有缓冲区", "an array of texts has no buffers")
        };
        let wide = self
            .list(self.arguments(*kind)?)?
            .first()
            .is_none_or(|name| self.text(*name).is_ok_and(|name| name.starts_with("large")));
        let (length, offset) = (usize::try_from(self.int(*length)?)?, usize::try_from(self.int(*offset)?)?);
        let buffer = |k: usize| -> Result<&[u8]> {
            let id =
                *self.list(*buffers)?.get(k).context(Word("文本数组缺少缓冲区", "an array of texts lacks a buffer"))?;
            match self.node(id) {
                Node::None => Ok(&[]),
                _ => match self.node(self.list(self.arguments(id)?)?[0]) {
                    Node::Bytes(bytes) => Ok(bytes),
                    _ => bail!("缓冲区没有字节", "a buffer holds no bytes"),
                },
            }
        };
        let (valid, ends, bytes) = (buffer(0)?, buffer(1)?, buffer(2)?);
        let size = if wide { 8 } else { 4 };
        let end = |k: usize| -> Result<usize> {
            let at =
                ends.get(k * size..(k + 1) * size).context(Word("文本数组不完整", "an array of texts is cut short"))?;
            Ok(at.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
        };
        (offset..offset.saturating_add(length))
            .map(|k| {
                let is_there = valid.is_empty() || valid.get(k / 8).is_some_and(|byte| byte >> (k % 8) & 1 == 1);
                let text = bytes
                    .get(end(k)?..end(k + 1)?)
                    .context(Word("文本数组不完整", "an array of texts is cut short"))?;
                ensure!(
                    text.len() <= LONGEST_TEXT,
                    "有文本长 {} 字节；最多读取 {LONGEST_TEXT} 字节",
                    "a text has {} bytes; at most {LONGEST_TEXT} are read",
                    text.len()
                );
                Ok(is_there.then(|| String::from_utf8_lossy(text).into_owned()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/reference/pickles");

    /// Every file holds the same scores of two names on three dates.
    #[test]
    fn pickles_of_pandas_are_read_whatever_the_version_and_the_protocol() {
        let mut read = 0;
        for entry in std::fs::read_dir(FOLDER).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "pkl") {
                continue;
            }
            let frame = read_frame(&path).unwrap_or_else(|error| panic!("{error:#}"));
            let scores = frame.column("score").unwrap().f64().unwrap();
            assert_eq!(
                scores.iter().flatten().collect::<Vec<_>>(),
                [0.5, -1.0, 2.0, 0.25, -0.125, 3.0],
                "{}",
                path.display()
            );
            let texts = |name: &str| {
                let column = frame.column(name).unwrap().str().unwrap();
                column.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
            };
            let dates = texts("datetime");
            assert_eq!((dates[0].as_str(), dates[5].as_str()), ("2025-01-02 00:00:00", "2025-01-06 00:00:00"));
            assert_eq!(texts("instrument")[..3], ["SH600000", "SZ000001", "SH600000"]);
            read += 1;
        }
        assert!(read >= 6, "only {read} pickles");
    }

    #[test]
    fn what_a_pickle_would_run_is_refused_by_name_and_damage_is_an_error() {
        let harmful = b"cos\nsystem\n(S'true'\ntR.";
        assert!(frame(harmful).unwrap_err().to_string().contains("names os.system"), "the call is refused");
        let intact = std::fs::read(Path::new(FOLDER).join("frame.pandas3.p5.pkl")).unwrap();
        for length in 0..intact.len() {
            assert!(frame(&intact[..length]).is_err(), "{length} bytes");
        }
        for at in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[at] ^= 0x55;
            let _ = frame(&damaged);
        }
    }
}
