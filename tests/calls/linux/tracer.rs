//! Runs a program under `ptrace` and stops it at the system calls of interest, in every thread and child, whoever makes them: the
//! standard library, rustix, the database.
//!
//! A seccomp filter stops the program at those calls alone, so that it is hardly slower than by itself. While a watched call is under
//! way, every other thread that comes to such a call waits: the order in which the calls are shown is the order in which they happened.

#![allow(unsafe_code, reason = "ptrace is a matter of the C library")]

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use std::{env, ptr};

use libc::{c_int, c_long, pid_t};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// Returned by `waitpid` for a stop at the end of a system call (`PTRACE_O_TRACESYSGOOD`).
const CALL_ENDS: c_int = libc::SIGTRAP | 0x80;

/// A system call that a thread is about to make.
pub(crate) struct Call {
    pub(crate) thread: pid_t,
    pub(crate) number: c_long,
    pub(crate) args: [u64; 6],
}

/// The fate of a call.
pub(crate) enum Verdict {
    /// It is made, and nobody asks how it ended.
    Let,
    /// It is made, and [`Watcher::ended`] is told of its result.
    Watch,
    /// It is not made, and fails with this number of an error.
    Fail(c_int),
}

/// Looks at the calls of a program.
pub(crate) trait Watcher {
    /// The calls to stop at.
    fn calls(&self) -> Vec<c_long>;

    /// A thread is about to make a call.
    fn entered(&mut self, call: &Call) -> Verdict;

    /// A watched call has ended. No other watched call was made meanwhile.
    fn ended(&mut self, call: &Call, result: i64);
}

/// The end of a traced program.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// It took longer than it may, and was killed.
    pub(crate) late: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Call {
    /// The string of bytes at an address of the program.
    pub(crate) fn string_at(&self, address: u64) -> PathBuf {
        let memory =
            File::open(format!("/proc/{}/mem", self.thread)).expect("the memory of a traced thread can be read");
        let (mut bytes, mut at) = (Vec::new(), address);
        loop {
            // No further than the page, after which there may be nothing.
            let mut piece = vec![0; (4096 - at % 4096) as usize];
            memory.read_exact_at(&mut piece, at).expect("a path lies in the memory of its thread");
            match piece.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    bytes.extend_from_slice(&piece[..end]);
                    return PathBuf::from(std::ffi::OsString::from_vec(bytes));
                }
                None => bytes.extend_from_slice(&piece),
            }
            at += piece.len() as u64;
        }
    }

    /// The file that a descriptor stands for, by a name that opens it again even if it has lost its own.
    pub(crate) fn descriptor(&self, number: u64) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", self.thread, number as c_int))
    }

    /// A path of the program, as the tester sees it.
    pub(crate) fn path(&self, folder: u64, address: u64) -> PathBuf {
        let path = self.string_at(address);
        let base = match folder as c_int {
            libc::AT_FDCWD => PathBuf::from(format!("/proc/{}/cwd", self.thread)),
            _ => self.descriptor(folder),
        };
        match fs::read_link(&base) {
            Ok(base) if !path.is_absolute() => base.join(path),
            _ => path,
        }
    }
}

/// Runs a program to its end under the eyes of a watcher. The error says why this machine cannot.
pub(crate) fn trace(mut command: Command, limit: Duration, watcher: &mut impl Watcher) -> Result<Ended, String> {
    let [mut stdout, mut stderr] =
        [tempfile::tempfile(), tempfile::tempfile()].map(|file| file.expect("a file for output"));
    let copy = |file: &File| Stdio::from(file.try_clone().expect("a descriptor can be copied"));
    command.stdin(Stdio::null()).stdout(copy(&stdout)).stderr(copy(&stderr));
    let filter = filter(&watcher.calls());
    // SAFETY: between fork and exec only system calls are made; the filter was built before.
    unsafe {
        command.pre_exec(move || {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, ptr::null_mut::<u8>(), ptr::null_mut::<u8>()) != 0 {
                return Err(io::Error::last_os_error());
            }
            apply_filter(&filter).map_err(|_| io::Error::from_raw_os_error(libc::EPERM))
        });
    }
    let child = command.spawn().map_err(|error| format!("a traced program cannot be started: {error}"))?;
    let leader = child.id() as pid_t;
    let (ended, late) = thread::scope(|scope| {
        let (over, watch) = channel::<()>();
        let watchdog = scope.spawn(move || {
            let late = watch.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if late {
                // SAFETY: the process is a child that nobody has waited for to its end, as `over` still lives.
                unsafe { libc::kill(leader, libc::SIGKILL) };
            }
            late
        });
        let ended = Tracer { leader, met: HashSet::from([leader]), watcher }.run();
        drop(over);
        (ended, watchdog.join().expect("the watchdog does not panic"))
    });
    let status = ended?;
    let mut output = Ended { status, late, stdout: Vec::new(), stderr: String::new() };
    let mut bytes = Vec::new();
    for (file, to) in [(&mut stdout, &mut output.stdout), (&mut stderr, &mut bytes)] {
        file.rewind().and_then(|()| file.read_to_end(to)).expect("the output can be read");
    }
    output.stderr = String::from_utf8_lossy(&bytes).into_owned();
    Ok(output)
}

fn filter(calls: &[c_long]) -> BpfProgram {
    let calls: BTreeMap<_, _> = calls.iter().map(|call| (*call, Vec::new())).collect();
    let arch = env::consts::ARCH.try_into().expect("a processor that seccomp knows");
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Trace(0), arch);
    filter.and_then(BpfProgram::try_from).expect("the filter can be built")
}

struct Tracer<'w, W> {
    leader: pid_t,
    /// The threads that have shown themselves; the first stop of a new one is no signal.
    met: HashSet<pid_t>,
    watcher: &'w mut W,
}

/// The reason for which a thread stands still.
enum Stop {
    /// It is no more.
    Gone(ExitStatus),
    /// It is about to make a call of interest.
    Call,
    /// The call that it made has ended.
    CallEnded,
    /// It goes on, with this signal where that is not 0.
    Passing(c_int),
}

impl<W: Watcher> Tracer<'_, W> {
    fn run(&mut self) -> Result<ExitStatus, String> {
        let first = wait(self.leader).map_err(|error| error.to_string())?;
        if let Stop::Gone(status) = self.stop(first) {
            return Err(format!("a traced program did not start: {status}"));
        }
        let options = libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACEEXEC
            | libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_EXITKILL;
        request(libc::PTRACE_SETOPTIONS, self.leader, options as usize);
        request(libc::PTRACE_CONT, self.leader, 0);
        let mut ended = None;
        // Until there is nobody left, children of the program included.
        while let Ok(event) = wait(-1) {
            match self.stop(event) {
                Stop::Gone(status) if event.0 == self.leader => ended = Some(status),
                Stop::Gone(_) => {}
                Stop::Call => ended = self.call(event.0).or(ended),
                Stop::CallEnded => request(libc::PTRACE_CONT, event.0, 0),
                Stop::Passing(signal) => request(libc::PTRACE_CONT, event.0, signal as usize),
            }
        }
        ended.ok_or_else(|| "a traced program ended unseen".to_owned())
    }

    fn stop(&mut self, (thread, status): (pid_t, c_int)) -> Stop {
        if !libc::WIFSTOPPED(status) {
            return Stop::Gone(ExitStatus::from_raw(status));
        }
        let is_new = self.met.insert(thread);
        match (libc::WSTOPSIG(status), status >> 16) {
            (libc::SIGTRAP, libc::PTRACE_EVENT_SECCOMP) => Stop::Call,
            (CALL_ENDS, _) => Stop::CallEnded,
            (libc::SIGTRAP, _) => Stop::Passing(0),
            (libc::SIGSTOP, _) if is_new => Stop::Passing(0),
            (signal, _) => Stop::Passing(signal),
        }
    }

    /// Lets a thread make its call, or not; gives the end of the program where that comes instead of the call's.
    fn call(&mut self, thread: pid_t) -> Option<ExitStatus> {
        let mut registers = registers(thread)?;
        let r = &registers;
        let args = [r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9];
        let call = Call { thread, number: r.orig_rax as c_long, args };
        match self.watcher.entered(&call) {
            Verdict::Let => request(libc::PTRACE_CONT, thread, 0),
            Verdict::Fail(error) => {
                (registers.orig_rax, registers.rax) = (u64::MAX, i64::from(-error) as u64);
                set_registers(thread, &mut registers);
                request(libc::PTRACE_CONT, thread, 0);
            }
            Verdict::Watch => {
                let mut signal = 0;
                loop {
                    request(libc::PTRACE_SYSCALL, thread, signal as usize);
                    match self.stop(wait(thread).ok()?) {
                        Stop::CallEnded => break,
                        Stop::Gone(status) => return (thread == self.leader).then_some(status),
                        Stop::Call => unreachable!("one call within another"),
                        Stop::Passing(passed) => signal = passed,
                    }
                }
                if let Some(registers) = self::registers(thread) {
                    self.watcher.ended(&call, registers.rax as i64);
                }
                request(libc::PTRACE_CONT, thread, 0);
            }
        }
        None
    }
}

/// The next stop or end of one of the threads that this thread traces, or of a certain one.
fn wait(thread: pid_t) -> io::Result<(pid_t, c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the status is written into a variable that outlives the call.
        match unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::__WNOTHREAD) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            thread => return Ok((thread, status)),
        }
    }
}

/// Asks something of a thread that stands still. One that was killed meanwhile is met again by `wait`.
fn request(what: libc::c_uint, thread: pid_t, data: usize) {
    // SAFETY: these requests take a number and touch no memory of this process.
    unsafe { libc::ptrace(what, thread, ptr::null_mut::<u8>(), data) };
}

fn registers(thread: pid_t) -> Option<libc::user_regs_struct> {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one such structure.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread, ptr::null_mut::<u8>(), &raw mut registers) };
    (done == 0).then_some(registers)
}

fn set_registers(thread: pid_t, registers: &mut libc::user_regs_struct) {
    // SAFETY: the kernel reads one such structure.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, ptr::null_mut::<u8>(), &raw mut *registers) };
}
