//! Calls that may take long: on a thread of their own, while Python hears Ctrl-C and other threads of Python go on.

use std::time::Duration;

use anyhow::Result;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use inkstone_base::job::{Ctx, Job, JobState};
use inkstone_base::remedy;

/// Time between two looks for Ctrl-C.
const LISTEN_EVERY: Duration = Duration::from_millis(100);
/// Documents that are worth a thread more.
const DOCUMENTS_OF_THREAD: usize = 64;

/// Runs `work` on `threads` threads, 0: as many as help with this number of documents. The threads end with the call, so that a fork after it
/// finds none.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    documents: usize,
    threads: usize,
    work: impl FnOnce(&Ctx) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { (documents / DOCUMENTS_OF_THREAD + 1).min(cores) } else { threads };
    let mut job =
        Ctx::new(threads, 1).and_then(|ctx| Job::spawn("inkstone", ctx, work)).map_err(|error| exception(&error))?;
    let mut interrupted = None;
    loop {
        let state;
        (job, state) = py.detach(move || {
            let state = job.wait(LISTEN_EVERY);
            (job, state)
        });
        match state {
            JobState::Running => {}
            JobState::Done(value) => return interrupted.map_or(Ok(value), Err),
            JobState::Failed(error) => return Err(interrupted.unwrap_or_else(|| exception(&error))),
            JobState::Cancelled => return Err(interrupted.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))),
        }
        if let Err(signal) = py.check_signals() {
            job.cancel();
            interrupted = Some(signal);
        }
    }
}

/// An error as Python's exception, with the way out in its text.
pub(crate) fn exception(error: &anyhow::Error) -> PyErr {
    let text = remedy::with_remedy(error);
    if let Some(cause) = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()) {
        return match cause.kind() {
            std::io::ErrorKind::NotFound => pyo3::exceptions::PyFileNotFoundError::new_err(text),
            std::io::ErrorKind::OutOfMemory => PyMemoryError::new_err(text),
            _ => PyOSError::new_err(text),
        };
    }
    if error.chain().any(|cause| cause.is::<std::collections::TryReserveError>()) {
        return PyMemoryError::new_err(text);
    }
    // The job of a panic says so.
    if text.starts_with("internal error") { PyRuntimeError::new_err(text) } else { PyValueError::new_err(text) }
}
