//! Two processes at one project: who writes keeps other writers out, who looks keeps nobody out.

use inkstone_base::lock::{self, Attempt};
use inkstone_tables::project::Project;

use crate::assert_says;
use crate::desk::Desk;

#[test]
fn a_run_that_finds_another_writing_names_it_and_leaves_the_project_alone() {
    let desk = Desk::new();
    let project = Project::new(desk.folder().join(".inkstone"));
    let held = project.lock_for("experiment").unwrap();
    let process = format!("(experiment, process {}", std::process::id());
    assert_says(&desk.run().refusal(), &["is being written by another run", &process, "wait until it has ended"]);
    assert!(!project.documents().path(0).exists());
    drop(held);
    desk.run().finished();
}

#[test]
fn a_workbench_that_is_only_looked_at_keeps_no_run_from_its_work() {
    let desk = Desk::new();
    let project = Project::new(desk.folder().join(".inkstone"));
    project.own().unwrap();
    let held = lock::take(&project.desk_lock(), "workbench").unwrap();
    assert!(matches!(held, Attempt::Ours(_)), "{held:?}");
    desk.run().finished();
}

#[test]
fn what_a_killed_run_has_left_of_its_lock_is_taken() {
    let desk = Desk::new();
    desk.run().finished();
    let lock = Project::new(desk.folder().join(".inkstone")).lock();
    assert_says(&std::fs::read_to_string(&lock).unwrap(), &["\"work\":\"run\"", "\"pid\":"]);
    desk.run().finished();
}
