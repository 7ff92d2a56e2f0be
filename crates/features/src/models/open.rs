//! The registry of fitted models: reads one of any kind from its file.

use std::path::Path;

use anyhow::{Context, Result};

use crate::fitted::{Fitted, Opened};
use crate::lines::{CutSpec, Cutter, LineFormat};
use crate::models::head::{Encoder, EncoderRecord, FittedHead};
use crate::models::ngram::eval::FittedNgram;
use crate::models::onnx::{Contextual, FittedOnnx, is_onnx};
use crate::models::static_encoder::FittedStatic;
use crate::models::{clusters, estimators, fasttext, head, lexicon, neural, textnet, word_vectors};
use inkstone_base::bail;
use inkstone_base::data::Key;
use inkstone_base::job::Ctx;
use inkstone_base::language::Word;
use inkstone_models::ngram::{LanguageModel, is_arpa, read_arpa};
use inkstone_models::sentences::SentenceEncoder;
use inkstone_models::textnet::TextNet;
use inkstone_models::{
    Doc2vec, FastText, Lexicon, Lsa, ModelFile, Pooling, Sestm, StaticEncoder, Vectorizer, WordVectors, is_fasttext,
    is_vectors, read_vectors,
};
use inkstone_text::{Labeller, Segmenter, TokenizerParams};

/// The format of the lines that a model reads, where the user gives none: as the name of the file says, else as in training.
fn format_for(file: &ModelFile, given: Option<LineFormat>, input: Option<&Path>) -> LineFormat {
    let trained = || serde_json::from_value(file.header().params["cut"]["format"].clone()).unwrap_or_default();
    given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or_else(trained)
}

/// [`open_with`], with the defaults of contextual models.
pub fn open_model(
    path: &Path,
    given: Option<LineFormat>,
    input: Option<&Path>,
    base: &Path,
    ctx: &Ctx,
) -> Result<(Box<dyn Fitted>, LineFormat)> {
    open_with(path, given, input, base, &Contextual::default(), ctx)
}

/// Makes a model ready for lines of a format, which is chosen as `format_for` does where none is `given`. A contextual model is used as
/// `using` says, the encoder of a head as its file says. A language model may be an ARPA file, word vectors may be in the formats of
/// word2vec, and fastText's own files are read; their text is taken as tokens unless the format says otherwise. Dictionaries are
/// read relative to `base`.
pub fn open_with(
    path: &Path,
    given: Option<LineFormat>,
    input: Option<&Path>,
    base: &Path,
    using: &Contextual,
    ctx: &Ctx,
) -> Result<(Box<dyn Fitted>, LineFormat)> {
    if is_onnx(path) {
        let format = given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or_default();
        return Ok((Box::new(FittedOnnx::open(path, using, format, ctx)?), format));
    }
    if StaticEncoder::is_at(path) {
        let format = given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or_default();
        return Ok((Box::new(FittedStatic::open(path)?), format));
    }
    if let Some(file) = own_file(path)? {
        if let Some(record) = head::encoder_of(&file)? {
            let (place, using) = record.find_unchanged(path, using)?;
            let format = given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or(record.format);
            let (model, _) = open_with(&place, Some(format), None, base, &using, ctx)?;
            if file.header().kind == clusters::KIND {
                let rows = clusters::RowsOf::new(model, record, &place)?;
                return Ok((Box::new(clusters::FittedThemes::open(&file, path, rows)?), format));
            }
            let encoder = Encoder::new(model, place.display().to_string(), record)?;
            return Ok((Box::new(FittedHead::open(&file, path, encoder, ctx)?), format));
        }
        let format = format_for(&file, given, input);
        let model = open(file, |file| Ok(cutter(file, trained_cut(file)?, base)?.for_format(format)))?;
        return Ok((model, format));
    }
    let format = given.or_else(|| input.and_then(LineFormat::by_name)).unwrap_or(LineFormat::Tokens);
    let cutter = Cutter::new(CutSpec::new(format, TokenizerParams::default()), base)?;
    Ok((open_foreign(path, cutter, ctx)?, format))
}

/// Opens the encoder at `path` for a head that will be saved as `head`. The encoder is a contextual model, used as `using` says, or a model
/// file with dense rows. It cuts the text of `format` lines as `embed` does.
pub fn open_encoder(path: &Path, using: &Contextual, format: LineFormat, head: &Path, ctx: &Ctx) -> Result<Encoder> {
    let record = EncoderRecord::new(path, using, format, head)?;
    let (model, _) = open_with(path, Some(format), None, Path::new(""), using, ctx)?;
    Encoder::new(model, path.display().to_string(), record)
}

/// Opens the model at `path`, whose rows are clustered, for clusters that will be saved as `output`. It reads lines of `format` as `embed` does.
pub fn open_cluster_rows(
    path: &Path,
    using: &Contextual,
    format: LineFormat,
    output: &Path,
    ctx: &Ctx,
) -> Result<clusters::RowsOf> {
    let record = EncoderRecord::new(path, using, format, output)?;
    let (model, _) = open_with(path, Some(format), None, Path::new(""), using, ctx)?;
    clusters::RowsOf::new(model, record, path)
}

/// A model that reads the documents of a project.
pub(crate) struct ProjectModel {
    pub(crate) model: Box<dyn Fitted>,
    pub(crate) segmenter: Segmenter,
    /// True if documents are cut as the text that the model was trained on; false if the file does not say how that was cut, and the
    /// project's tokenizer cuts them.
    pub(crate) own_cut: bool,
}

/// Makes a model ready for the documents of a project, whose `tokenizer` cuts them where the file does not say how its text was cut:
/// files of other tools, and models trained on lines of tokens. Dictionaries are read relative to `base`.
pub(crate) fn open_for_project(
    path: &Path,
    tokenizer: &TokenizerParams,
    base: &Path,
    using: &Contextual,
    ctx: &Ctx,
) -> Result<ProjectModel> {
    if is_onnx(path) {
        let model = Box::new(FittedOnnx::open(path, using, LineFormat::Jsonl, ctx)?);
        return Ok(ProjectModel { model, segmenter: Segmenter::new(tokenizer, base)?, own_cut: true });
    }
    if StaticEncoder::is_at(path) {
        let model = Box::new(FittedStatic::open(path)?);
        return Ok(ProjectModel { model, segmenter: Segmenter::new(tokenizer, base)?, own_cut: true });
    }
    let by_project = || CutSpec::new(LineFormat::Jsonl, tokenizer.clone());
    let (mut segmenter, mut own_cut) = (None, false);
    let file = own_file(path)?;
    if let Some(file) = &file
        && let Some(record) = head::encoder_of(file)?
    {
        let (place, using) = record.find_unchanged(path, using)?;
        let ProjectModel { model, segmenter, own_cut } = open_for_project(&place, tokenizer, base, &using, ctx)?;
        if file.header().kind == clusters::KIND {
            let rows = clusters::RowsOf::new(model, record, &place)?;
            let model = Box::new(clusters::FittedThemes::open(file, path, rows)?);
            return Ok(ProjectModel { model, segmenter, own_cut });
        }
        let encoder = Encoder::new(model, place.display().to_string(), record)?;
        return Ok(ProjectModel { model: Box::new(FittedHead::open(file, path, encoder, ctx)?), segmenter, own_cut });
    }
    let model = match file {
        Some(file) => open(file, |file| {
            let trained = trained_cut(file)?;
            own_cut = trained.format != LineFormat::Tokens;
            let cutter = cutter(file, if own_cut { trained } else { by_project() }, base)?;
            segmenter = cutter.segmenter().cloned();
            Ok(cutter)
        })?,
        None => {
            let cutter = Cutter::new(by_project(), base)?;
            segmenter = cutter.segmenter().cloned();
            open_foreign(path, cutter, ctx)?
        }
    };
    Ok(ProjectModel {
        model,
        segmenter: segmenter.context(Word("文档的文本应已切分", "the text of documents is cut"))?,
        own_cut,
    })
}

/// The contents of the files that a model's text is cut with; relative paths start at `base`. `encoder` is the place of a head's encoder;
/// none: as the file says.
pub(crate) fn keys_of_cut(path: &Path, encoder: Option<&Path>, base: &Path) -> Result<Vec<Key>> {
    let Some(file) = own_file(path)? else { return Ok(Vec::new()) };
    if let Some(record) = head::encoder_of(&file)? {
        let encoder = record.find_file(path, encoder)?;
        return encoder.map_or(Ok(Vec::new()), |encoder| keys_of_cut(&encoder, None, base));
    }
    let cut = trained_cut(&file)?;
    if cut.format == LineFormat::Tokens { Ok(Vec::new()) } else { cut.tokenizer.file_keys(base) }
}

/// The hash of a head's encoder; none for other models.
pub(crate) fn encoder_key(path: &Path, encoder: Option<&Path>) -> Result<Option<Key>> {
    let Some(file) = own_file(path)? else { return Ok(None) };
    head::encoder_of(&file)?.map(|record| record.check(path, encoder)).transpose()
}

/// A model file of this program; none for a folder, or a file in the format of another tool.
fn own_file(path: &Path) -> Result<Option<ModelFile>> {
    if path.is_dir() || is_arpa(path)? || is_vectors(path)? || is_fasttext(path)? {
        return Ok(None);
    }
    Ok(Some(ModelFile::open(path)?))
}

/// How the text that a model was trained on was cut.
fn trained_cut(file: &ModelFile) -> Result<CutSpec> {
    Ok(serde_json::from_value(file.header().params["cut"].clone())?)
}

/// The cutter of a model's documents.
fn cutter(file: &ModelFile, spec: CutSpec, base: &Path) -> Result<Cutter> {
    let words = if file.header().kind == lexicon::plain::KIND {
        lexicon::plain::words(&Lexicon::read(file)?)
    } else {
        Vec::new()
    };
    Cutter::with_words(spec, base, &words)
}

/// A file in the format of another tool.
fn open_foreign(path: &Path, cutter: Cutter, ctx: &Ctx) -> Result<Box<dyn Fitted>> {
    Ok(if is_arpa(path)? {
        Box::new(FittedNgram { model: read_arpa(path, ctx)?, cutter })
    } else if is_fasttext(path)? {
        Box::new(fasttext::plain::foreign(FastText::open(path)?, cutter))
    } else {
        Box::new(word_vectors::foreign(read_vectors(path)?, cutter))
    })
}

/// Reads a model of any kind; `cutter` gives the cutter of its documents.
fn open(file: ModelFile, cutter: impl FnOnce(&ModelFile) -> Result<Cutter>) -> Result<Box<dyn Fitted>> {
    let kind = file.header().kind.clone();
    let cutter = || cutter(&file);
    Ok(match kind.as_str() {
        lexicon::plain::KIND => Box::new(Opened::new(&file, Lexicon::read(&file)?, cutter()?)),
        Sestm::KIND => Box::new(Opened::new(&file, Sestm::read(&file)?, cutter()?)),
        Labeller::KIND => Box::new(Opened::new(&file, Labeller::read(&file)?, cutter()?)),
        SentenceEncoder::KIND => Box::new(Opened::new(&file, SentenceEncoder::read(&file)?, cutter()?)),
        Doc2vec::KIND => Box::new(Opened::new(&file, Doc2vec::read(&file)?, cutter()?)),
        FastText::KIND => Box::new(Opened::new(&file, FastText::from_file(&file)?, cutter()?)),
        Lsa::KIND => {
            let model = Lsa::read(&file)?;
            let params = model.vectorizer().params().clone();
            Box::new(Opened::of_rows(&file, model, &params, &cutter()?)?)
        }
        Pooling::KIND => Box::new(Opened::new(&file, Pooling::read(&file)?, cutter()?)),
        WordVectors::KIND => Box::new(Opened::new(&file, WordVectors::read(&file)?, cutter()?)),
        Vectorizer::KIND => {
            let model = Vectorizer::read(&file)?;
            let params = model.params().clone();
            Box::new(Opened::of_rows(&file, model, &params, &cutter()?)?)
        }
        kind if estimators::plain::is_kind(kind) => Box::new(estimators::plain::open(&file, &cutter()?)?),
        kind if neural::is_kind(kind) => Box::new(neural::open(&file, cutter()?)?),
        kind if textnet::plain::is_kind(kind) => Box::new(Opened::new(&file, TextNet::read(&file)?, cutter()?)),
        LanguageModel::KIND => Box::new(FittedNgram { cutter: cutter()?, model: LanguageModel::open(file)? }),
        _ => bail!(
            "本版本不认识类型为 {kind:?} 的模型；它是更新的版本写的吗？",
            "this version of the program knows no model of kind {kind:?}; was it written by a later one?"
        ),
    })
}
