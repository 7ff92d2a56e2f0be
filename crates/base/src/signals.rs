//! What the system tells the process: to end, and which limits are no reason to die of.
//!
//! A signal is taken up by a thread of its own, which never writes anything: a full pipe on stderr must not keep the next signal
//! from being heard.

use anyhow::{Context, Result};

/// A signal to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending(i32);

impl Ending {
    /// The exit code by which shells tell that a signal ended a program: 128 and its number.
    pub fn code(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(130)
    }

    /// The signal's name.
    pub fn name(self) -> &'static str {
        imp::name(self.0).unwrap_or("a signal")
    }

    /// The ending of that exit code.
    pub fn of_code(code: u8) -> Option<Ending> {
        code.checked_sub(128).map(|number| Ending(i32::from(number)))
    }
}

/// Hears signals until it is dropped. From then on a signal changes nothing: whoever hears no more is about to end.
pub struct Hearing {
    _imp: imp::Hearing,
}

/// Calls `told` at each signal to end: Ctrl-C, Ctrl-\, SIGTERM, and SIGHUP unless whoever started the program had that ignored (`nohup`).
pub fn on_end(mut told: impl FnMut(Ending) + Send + 'static) -> Result<Hearing> {
    let imp = imp::hear(move |number| told(Ending(number))).context("cannot listen to signals")?;
    Ok(Hearing { _imp: imp })
}

/// Ends the process at once, as if it were killed, but with an exit code.
pub fn exit_at_once(code: u8) -> ! {
    imp::exit(i32::from(code))
}

/// Makes a file that may not grow any more (`ulimit -f`) an error of whoever writes it; by itself the system kills the process.
pub fn survive_limits() {
    imp::survive_limits();
}

#[cfg(unix)]
mod imp {
    use std::io;
    use std::sync::Arc;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::{Handle, Signals};
    use signal_hook::low_level;

    pub(super) struct Hearing(Handle);

    impl Drop for Hearing {
        fn drop(&mut self) {
            self.0.close();
        }
    }

    pub(super) fn hear(mut told: impl FnMut(i32) + Send + 'static) -> io::Result<Hearing> {
        let all = [SIGINT, SIGQUIT, SIGTERM, SIGHUP];
        let heard = all.into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(SIGHUP));
        let mut signals = Signals::new(heard)?;
        let handle = signals.handle();
        thread::Builder::new().name("signals".to_owned()).spawn(move || signals.forever().for_each(&mut told))?;
        Ok(Hearing(handle))
    }

    /// Whether the system throws this signal away. Only Linux tells without more ado.
    fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    }

    pub(super) fn name(signal: i32) -> Option<&'static str> {
        low_level::signal_name(signal)
    }

    pub(super) fn exit(code: i32) -> ! {
        low_level::exit(code)
    }

    pub(super) fn survive_limits() {
        // Where it cannot be set, a limit kills as it does other programs.
        let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    pub(super) struct Hearing;

    pub(super) fn hear(mut told: impl FnMut(i32) + Send + 'static) -> io::Result<Hearing> {
        const CTRL_C: i32 = 2;
        ctrlc::set_handler(move || told(CTRL_C)).map_err(io::Error::other)?;
        Ok(Hearing)
    }

    pub(super) fn name(_: i32) -> Option<&'static str> {
        None
    }

    pub(super) fn exit(code: i32) -> ! {
        std::process::exit(code)
    }

    pub(super) fn survive_limits() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_tells_which_signal_it_was() {
        for (code, name) in [(130, "SIGINT"), (143, "SIGTERM"), (129, "SIGHUP")] {
            let ending = Ending::of_code(code).unwrap();
            assert_eq!((ending.code(), ending.name()), (code, name));
        }
        assert_eq!(Ending::of_code(0), None);
    }
}
