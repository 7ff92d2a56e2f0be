//! The states that a loss of power may leave of a record.
//!
//! File systems keep only the promises of POSIX: the bytes of a file are on the disk once `fsync` or `fdatasync` of that
//! file has returned, a name once `fsync` of its folder has (of a file that is moved, of either folder). Until then each change may be
//! there or not, whatever came before and after it: ext4, xfs and btrfs each do some of this. `sync_file_range` promises nothing. A change
//! of names is whole: a file that is renamed has one name, the old or the new one.
//!
//! [`Model::Ordered`] is what ext4 does with its usual settings: names reach the disk in the order of their changes, and every `fsync`
//! brings all of them.

use crate::linux::record::{Record, Step, What};
use crate::linux::tree::{Change, Tree};

/// The promises of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    Posix,
    Ordered,
}

/// The fate of the changes that are not on the disk yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// They stay: the program was killed, the machine was not.
    Nothing,
    /// They stay, but of the last write only so many eighths: the program was killed in the middle of it.
    Torn(usize),
    All,
    /// Names stay; files are as short as they were, or empty.
    Bytes,
    /// Names and lengths stay; the bytes are zeros.
    BytesAsZeros,
    /// Bytes stay in files that have their old names.
    Names,
    /// One step.
    Only(usize),
    /// The bytes of one step, in a file that has its length.
    OnlyAsZeros(usize),
    /// All but one step.
    AllBut(usize),
    /// The steps that one call was to bring to the disk.
    Covered(usize),
    CoveredAsZeros(usize),
}

/// A moment, as the number of steps that were done, and what was lost then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) moment: usize,
    pub(crate) loss: Loss,
}

/// A record with the knowledge which call brings each of its steps to the disk.
pub(crate) struct Losses<'r> {
    record: &'r Record,
    model: Model,
    /// By step: the call that brings it to the disk; none for what never is.
    covered: Vec<usize>,
    /// The same with no call left out.
    usually: Vec<usize>,
}

const NEVER: usize = usize::MAX;

impl<'r> Losses<'r> {
    pub(crate) fn new(record: &'r Record, model: Model) -> Losses<'r> {
        Losses::without(record, model, |_| false)
    }

    /// As if the program had not made the calls of these steps.
    pub(crate) fn without(record: &'r Record, model: Model, is_left_out: impl Fn(usize) -> bool) -> Losses<'r> {
        let covered = covered(&record.steps, model, is_left_out);
        Losses { record, model, covered, usually: self::covered(&record.steps, model, |_| false) }
    }

    /// True for a step that is done at a moment, but not on the disk.
    pub(crate) fn is_open(&self, step: usize, moment: usize) -> bool {
        step < moment && is_change(&self.record.steps[step]) && self.covered[step] >= moment
    }

    /// The steps that a call brings to the disk, if it is made.
    pub(crate) fn brought_by(&self, call: usize) -> Vec<usize> {
        (0..call).filter(|step| self.usually[*step] == call && self.covered[*step] != call).collect()
    }

    /// The files as they are found after a loss.
    pub(crate) fn tree(&self, case: Case) -> Tree {
        let mut tree = self.record.before.clone();
        let mut cut = false;
        for (number, step) in self.record.steps[..case.moment].iter().enumerate() {
            let change = match &step.what {
                What::Change(change) => change,
                What::Outside(at, node, path) => {
                    tree.put(at.clone(), *node, path);
                    continue;
                }
                What::Sync(_) | What::SyncAll | What::End(_) => continue,
            };
            let is_open = self.covered[number] >= case.moment;
            let is_bytes = matches!(change, Change::Write { .. } | Change::Resize { .. });
            // Where names keep their order, none comes after one that was lost.
            let is_cut = cut && is_open && !is_bytes;
            let covered_by = self.usually[number];
            let (lost, as_zeros) = match case.loss {
                _ if !is_open => (false, false),
                Loss::Nothing => (false, false),
                Loss::Torn(eighths) => match change {
                    Change::Write { node, offset, bytes } if number + 1 == case.moment => {
                        let bytes = bytes[..bytes.len() * eighths / 8].into();
                        tree.change(&Change::Write { node: *node, offset: *offset, bytes });
                        continue;
                    }
                    _ => (false, false),
                },
                Loss::All => (true, false),
                Loss::Bytes => (is_bytes, false),
                Loss::BytesAsZeros => (is_bytes, true),
                Loss::Names => (!is_bytes, false),
                Loss::Only(only) => (number == only, false),
                Loss::OnlyAsZeros(only) => (number == only, true),
                Loss::AllBut(but) => (number != but, false),
                Loss::Covered(call) => (covered_by == call, false),
                Loss::CoveredAsZeros(call) => (covered_by == call, true),
            };
            if !lost && !is_cut {
                tree.change(change);
            } else if let Change::Make { node, is_folder, .. } = change {
                // A later name of it may be there.
                tree.make(*node, *is_folder);
            } else if let (true, Change::Write { node, offset, bytes }) = (as_zeros, change) {
                let length = tree.length(*node).max(offset + bytes.len() as u64);
                tree.change(&Change::Resize { node: *node, length });
            }
            cut |= lost && !is_bytes && self.model == Model::Ordered;
        }
        tree
    }

    /// Every moment with what may be lost then in bulk, every write with parts of it, and, where a call is about to bring something to the disk or a command has
    /// ended, each single step lost and each alone left.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let bulk = [Loss::Nothing, Loss::All, Loss::Bytes, Loss::BytesAsZeros, Loss::Names];
        let mut cases = Vec::new();
        let is_of_user = |step: Option<&Step>| step.is_some_and(|step| matches!(step.what, What::Outside(..)));
        for moment in 0..=self.record.steps.len() {
            // The user's changes before a command count as one.
            let before = moment.checked_sub(1).and_then(|before| self.record.steps.get(before));
            if is_of_user(before) && is_of_user(self.record.steps.get(moment)) {
                continue;
            }
            cases.extend(bulk.map(|loss| Case { moment, loss }));
            if before.is_some_and(|step| matches!(step.what, What::Change(Change::Write { .. }))) {
                cases.extend([1, 4, 7].map(|eighths| Case { moment, loss: Loss::Torn(eighths) }));
            }
            let next = self.record.steps.get(moment).map(|step| &step.what);
            if matches!(next, None | Some(What::Sync(_) | What::SyncAll | What::End(_) | What::Outside(..))) {
                let singles = (0..moment)
                    .filter(|step| self.is_open(*step, moment))
                    .flat_map(|step| [Loss::Only(step), Loss::OnlyAsZeros(step), Loss::AllBut(step)]);
                cases.extend(singles.map(|loss| Case { moment, loss }));
            }
        }
        cases
    }
}

fn is_change(step: &Step) -> bool {
    matches!(step.what, What::Change(_))
}

fn covered(steps: &[Step], model: Model, is_left_out: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut covered = vec![NEVER; steps.len()];
    let mut open: Vec<usize> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        match &step.what {
            What::Change(_) => open.push(number),
            What::Sync(_) | What::SyncAll if !is_left_out(number) => open.retain(|&earlier| {
                let is_covered = is_brought(&steps[earlier], &step.what, model);
                if is_covered {
                    covered[earlier] = number;
                }
                !is_covered
            }),
            _ => {}
        }
    }
    covered
}

/// True for a step that is on the disk after a call.
fn is_brought(step: &Step, call: &What, model: Model) -> bool {
    let (What::Change(change), What::Sync(node)) = (&step.what, call) else { return true };
    match change {
        Change::Write { node: own, .. } | Change::Resize { node: own, .. } => own == node,
        _ if model == Model::Ordered => true,
        Change::Make { at, .. } | Change::Link { at, .. } | Change::Remove { at, .. } => at.folder == *node,
        Change::Rename { from, to, .. } => from.folder == *node || to.folder == *node,
        Change::Exchange { a, b } => a.0.folder == *node || b.0.folder == *node,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::*;
    use crate::linux::{LIMIT, traced};

    /// The files that a line of shell leaves after a loss, at the end or before its last step.
    fn left(line: &str, model: Model, loss: Loss, back: usize) -> Option<BTreeMap<String, Vec<u8>>> {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::new(folder.path());
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(line).current_dir(folder.path());
        let ended = traced(shell, LIMIT, &mut record)?;
        assert!(ended.status.success(), "{ended:?}");
        record.check_complete();
        let moment = record.steps.len() - back;
        Some(Losses::new(&record, model).tree(Case { moment, loss }).files())
    }

    /// The files with these contents.
    fn files(content: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
        content.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect()
    }

    #[test]
    fn a_loss_takes_what_is_not_on_the_disk_and_nothing_else() {
        let sound = "printf new > .tmp; sync .tmp; mv .tmp file; sync .";
        let unsound = "printf new > .tmp; mv .tmp file";
        let each = [
            (sound, Loss::All, 0, files(&[("file", b"new")])),
            (sound, Loss::All, 1, files(&[])),
            (sound, Loss::Nothing, 1, files(&[("file", b"new")])),
            (unsound, Loss::Nothing, 0, files(&[("file", b"new")])),
            (unsound, Loss::All, 0, files(&[])),
            (unsound, Loss::Bytes, 0, files(&[("file", b"")])),
            (unsound, Loss::BytesAsZeros, 0, files(&[("file", &[0; 3])])),
            (unsound, Loss::Names, 0, files(&[])),
            (unsound, Loss::Only(2), 0, files(&[(".tmp", b"new")])),
            (unsound, Loss::AllBut(2), 0, files(&[("file", b"")])),
        ];
        for (line, loss, back, expected) in each {
            match left(line, Model::Posix, loss, back) {
                Some(left) => assert_eq!(left, expected, "{loss:?} {back}"),
                None => return,
            }
        }
        let synced = "touch a b c; sync c";
        assert_eq!(left(synced, Model::Posix, Loss::All, 0), Some(files(&[])));
        let all = files(&[("a", b""), ("b", b""), ("c", b"")]);
        assert_eq!(left(synced, Model::Ordered, Loss::All, 0), Some(all));
        assert_eq!(left(synced, Model::Ordered, Loss::Only(0), 1), Some(files(&[])));
    }
}
