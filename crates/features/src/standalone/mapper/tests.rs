use std::io::Cursor;

use polars_io::SerReader;
use polars_io::SerWriter;
use polars_io::ipc::{IpcStreamReader, IpcStreamWriter};

use super::*;
use crate::fitted::{EvalParams, Figures};
use crate::lines::Lines;
use inkstone_base::data::Report;
use inkstone_models::{Csr, Explanation, ModelHeader};

/// Gives each text its number of characters, in rows of one kind or another.
struct Lengths {
    header: ModelHeader,
    columns: Columns,
}

impl Fitted for Lengths {
    fn header(&self) -> &ModelHeader {
        &self.header
    }

    fn columns(&self) -> Result<Columns> {
        Ok(self.columns.clone())
    }

    fn rows(&self, lines: &[Line<'_>]) -> Result<Rows> {
        let lengths = lines.iter().map(|line| line.whole().chars().count());
        Ok(match &self.columns {
            Columns::Dense(_) => Rows::Dense(lengths.flat_map(|length| [length as f32, -1.0]).collect()),
            Columns::Sparse { width, .. } => {
                let mut rows = Csr::new(*width);
                lengths.for_each(|length| rows.push_row([(length as u32, 1.0)]));
                Rows::Sparse(rows)
            }
            Columns::Table { .. } => {
                let numbers = lengths.map(|length| if length == 1 { f64::NAN } else { length as f64 });
                Rows::Table {
                    texts: lines.iter().map(|line| line.text.to_string()).collect(),
                    numbers: numbers.collect(),
                }
            }
        })
    }

    fn explain(&self, _: &Line<'_>, _: Option<&str>) -> Result<Explanation> {
        anyhow::bail!("not asked")
    }

    fn evaluate(&self, _: &mut Lines, _: &EvalParams, _: &Ctx) -> Result<(Figures, Report)> {
        anyhow::bail!("not asked")
    }
}

fn table() -> Columns {
    Columns::Table { text: Some("label".to_owned()), numbers: vec!["length".to_owned()] }
}

fn mapper_of(columns: Columns, fitted_until: Option<NaiveDateTime>, stated: Option<NaiveDate>) -> Result<FrameMapper> {
    let header =
        ModelHeader { kind: "lengths".into(), version: 1, fitted_until, documents: 0, params: serde_json::json!({}) };
    let model = Arc::new(Lengths { header, columns });
    FrameMapper::new(model, stated, "--fitted-until", NightWatch::new(NightWatch::ALLOWED))
}

fn day(day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(2024, 3, day).unwrap()
}

fn at(date: u32, hour: u32) -> NaiveDateTime {
    day(date).and_hms_opt(hour, 0, 0).unwrap()
}

fn mapper(columns: Columns) -> FrameMapper {
    mapper_of(columns, Some(at(10, 12)), None).unwrap()
}

fn ctx() -> Ctx {
    Ctx::new(2, 1).unwrap()
}

fn texts(name: &str, texts: &[Option<&str>]) -> Column {
    Series::new(name.into(), texts).into_column()
}

/// Moments of UTC as a column with a zone.
fn zoned(times: &[NaiveDateTime]) -> Column {
    let ticks: Vec<i64> = times.iter().map(|time| time.and_utc().timestamp_micros()).collect();
    Series::new("time".into(), ticks).into_datetime(TimeUnit::Microseconds, Some(TimeZone::UTC)).into_column()
}

#[test]
fn times_of_all_kinds_are_shanghais() {
    assert_eq!(shanghai_times(&zoned(&[at(11, 7)])).unwrap(), [Some(at(11, 15))]);
    let bare = zoned(&[at(11, 7)]).cast(&DataType::Datetime(TimeUnit::Milliseconds, None)).unwrap();
    assert_eq!(shanghai_times(&bare).unwrap(), [Some(at(11, 7))]);
    let dates = bare.cast(&DataType::Date).unwrap();
    assert_eq!(shanghai_times(&dates).unwrap(), [Some(day(11).and_time(END_OF_DAY))]);
    let written = texts("time", &[Some("2024-03-11 07:00:00"), Some("2024-03-11T07:00:00Z"), Some("soon"), None]);
    assert_eq!(shanghai_times(&written).unwrap(), [Some(at(11, 7)), Some(at(11, 15)), None, None]);
    let numbers = Series::new("time".into(), [1.5]).into_column();
    assert!(shanghai_times(&numbers).unwrap_err().to_string().contains("\"time\" holds f64"));
}

#[test]
fn a_row_is_known_when_its_text_and_its_model_are() {
    let (body, times) = (
        texts("text", &[Some("增长"), Some("减持"), None, Some("跌")]),
        zoned(&[at(9, 1), at(12, 1), at(12, 1), at(12, 1)]),
    );
    let documents = FrameDocuments { titles: None, texts: &body, times: &times };
    let mapped = mapper(table()).map(&documents, &ctx()).unwrap();
    assert_eq!(mapped.get_column_names(), ["label", "length", "known_at"]);
    assert_eq!(
        mapped.column("length").unwrap().f64().unwrap().iter().collect::<Vec<_>>(),
        [Some(2.0), Some(2.0), None, None],
        "a value that is no number is none"
    );
    let known = mapped.column("known_at").unwrap();
    assert_eq!(known.dtype(), &DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC)));
    assert_eq!(shanghai_times(known).unwrap(), [Some(at(10, 12)), Some(at(12, 9)), None, Some(at(12, 9))]);
    // Local times come back as local times.
    let bare = times.cast(&DataType::Datetime(TimeUnit::Microseconds, None)).unwrap();
    let mapped = mapper(table()).map(&FrameDocuments { times: &bare, ..documents }, &ctx()).unwrap();
    let known = mapped.column("known_at").unwrap();
    assert_eq!(known.dtype(), &DataType::Datetime(TimeUnit::Microseconds, None));
    assert_eq!(shanghai_times(known).unwrap()[1], Some(at(12, 1)));
}

#[test]
fn vectors_and_weights_are_lists() {
    let body = texts("text", &[None, Some("增长"), None, Some("净利润"), None]);
    let times = texts("time", &[Some("2024-03-12"); 5]);
    let titles = texts("title", &[Some("快讯"); 5]);
    let documents = FrameDocuments { titles: Some(&titles), texts: &body, times: &times };
    let lists = |mapped: &DataFrame, name: &str| -> Vec<Option<String>> {
        mapped
            .column(name)
            .unwrap()
            .list()
            .unwrap()
            .amortized_iter()
            .map(|list| list.map(|list| format!("{:?}", list.as_ref().to_physical_repr().iter().collect::<Vec<_>>())))
            .collect()
    };
    let vectors = mapper(Columns::Dense(vec!["a".into(), "b".into()])).map(&documents, &ctx()).unwrap();
    let found = lists(&vectors, "vector");
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, true, false]);
    assert!(found[3].as_ref().unwrap().contains("6.0"), "title, line break and text: {found:?}");
    let weights = mapper(Columns::Sparse { names: Vec::new(), width: 9 }).map(&documents, &ctx()).unwrap();
    assert_eq!(weights.get_column_names(), ["indices", "values", "known_at"]);
    assert!(lists(&weights, "indices")[1].as_ref().unwrap().contains('5'));
}

#[test]
fn a_model_that_does_not_say_what_it_saw_is_refused() {
    let error = mapper_of(table(), None, None).err().unwrap().to_string();
    assert!(error.contains("set --fitted-until to the last day"), "{error}");
    assert_eq!(mapper_of(table(), None, Some(day(20))).unwrap().fitted_until(), day(20).and_time(END_OF_DAY));
    let error = mapper_of(table(), Some(at(10, 12)), Some(day(9))).err().unwrap().to_string();
    assert!(error.contains("was trained on text until"), "{error}");
}

#[test]
fn times_that_are_eight_hours_off_stop_the_work() {
    // A busy day from 08:00 to 22:00.
    let times: Vec<NaiveDateTime> = (0..1400).map(|i| at(12, 8) + TimeDelta::minutes(i * 3 / 5)).collect();
    let body = texts("text", &[Some("增长"); 1400]);
    let run = |mapper: &mut FrameMapper, hours: i64, rows: usize| {
        let moved: Vec<NaiveDateTime> = times.iter().map(|time| *time + TimeDelta::hours(hours)).collect();
        let documents =
            FrameDocuments { titles: None, texts: &body.head(Some(rows)), times: &zoned(&moved).head(Some(rows)) };
        mapper.map(&documents, &ctx()).map(drop).map_err(|error| error.to_string())
    };
    // Shanghai's times as the moments that they are, and as a session in UTC takes them, which moves them by eight hours.
    run(&mut mapper(table()), -8, 1400).unwrap();
    let error = run(&mut mapper(table()), 0, 1400).unwrap_err();
    assert!(error.contains("may be eight hours off"), "{error}");
    assert!(run(&mut mapper(table()), -16, 1400).is_err(), "early as well as late");
    // A few documents say nothing; batch after batch they do.
    let mut one = mapper(table());
    run(&mut one, -16, 300).unwrap();
    run(&mut one, -16, 300).unwrap_err();
    // Dates without a time of day do not count.
    let dates = texts("time", &[Some("2024-03-12"); 1400]);
    mapper(table()).map(&FrameDocuments { titles: None, texts: &body, times: &dates }, &ctx()).unwrap();
}

fn columns(keep: Option<&[&str]>) -> StreamColumns {
    let keep = keep.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    StreamColumns { title: None, text: "body".into(), time: "time".into(), keep }
}

fn frame(rows: usize) -> DataFrame {
    let ids = Series::new("id".into(), (0..rows as i64).collect::<Vec<_>>()).into_column();
    let body = texts("body", &vec![Some("增长"); rows]);
    let times = zoned(&vec![at(12, 1); rows]).with_name("time".into());
    DataFrame::new(rows, vec![ids, body, times]).unwrap()
}

fn stream(frame: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    IpcStreamWriter::new(&mut bytes).finish(&mut frame.clone()).unwrap();
    bytes
}

/// A reader that cannot seek, and gives a few bytes at a time.
struct Pipe<R>(R);

impl<R: std::io::Read> std::io::Read for Pipe<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let few = buffer.len().min(7);
        self.0.read(&mut buffer[..few])
    }
}

#[test]
fn an_arrow_stream_is_mapped_batch_by_batch() {
    for rows in [0, 1, 1000] {
        let mut out = Vec::new();
        let input = Pipe(Cursor::new(stream(&frame(rows))));
        let report = map_arrow(&mut mapper(table()), &columns(None), input, &mut out, &ctx()).unwrap();
        assert_eq!((report.rows_in, report.rows_out), (rows as u64, rows as u64));
        let mapped = IpcStreamReader::new(Cursor::new(out)).finish().unwrap();
        assert_eq!(mapped.get_column_names(), ["id", "time", "label", "length", "known_at"]);
        assert_eq!(mapped.height(), rows);
        assert_eq!(
            mapped.column("id").unwrap().as_materialized_series(),
            frame(rows).column("id").unwrap().as_materialized_series()
        );
    }
}

#[test]
fn a_broken_stream_and_missing_columns_are_told() {
    let run = |bytes: Vec<u8>, columns: &StreamColumns| {
        let mapped = map_arrow(&mut mapper(table()), columns, Cursor::new(bytes), Vec::new(), &ctx());
        format!("{:#}", mapped.unwrap_err())
    };
    assert!(run(b"id,body\n".to_vec(), &columns(None)).contains("no Arrow stream"));
    let one_frame = stream(&frame(1000));
    assert!(run(one_frame[..one_frame.len() / 2].to_vec(), &columns(None)).contains("cannot be read on"));
    let absent = StreamColumns { text: "text".into(), ..columns(None) };
    assert!(run(one_frame.clone(), &absent).contains("there is no column \"text\"; the columns are id, body, time"));
    let mut renamed = frame(3);
    renamed.rename("id", "length".into()).unwrap();
    assert!(
        run(stream(&renamed), &columns(None)).contains("the model gives a column \"length\", and so does the input")
    );
    map_arrow(&mut mapper(table()), &columns(Some(&["time"])), Cursor::new(stream(&renamed)), Vec::new(), &ctx())
        .unwrap();
}

#[test]
fn lines_are_mapped_and_unusable_ones_counted() {
    let names = ["id", "time", "body"].map(str::to_owned);
    let lines = "1\t2024-03-12 09:00:00\t增长\n2\t\\N\t减持\n3\t2024-03-09\t净利润\n4\tno text\n";
    let mut out = Vec::new();
    let report =
        map_tsv(&mut mapper(table()), &columns(Some(&["id"])), &names, lines.as_bytes(), &mut out, &ctx()).unwrap();
    assert_eq!((report.rows_in, report.rows_out, report.dropped_rows()), (4, 3, 1));
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "1\t增长\t2\t2024-03-12 09:00:00\n2\t\\N\t\\N\t\\N\n3\t净利润\t3\t2024-03-10 12:00:00\n"
    );
    let mut out = Vec::new();
    let vectors = Columns::Dense(vec!["a".into(), "b".into()]);
    map_tsv(&mut mapper(vectors), &columns(Some(&["id"])), &names, lines.as_bytes(), &mut out, &ctx()).unwrap();
    assert!(String::from_utf8(out).unwrap().starts_with("1\t2,-1\t2024-03-12"));
}
