use super::*;

#[test]
fn tasks_have_about_the_same_number_of_characters() {
    let part = |characters| PlannedPart { key: Key::default(), source: None, documents: 1, characters };
    let parts: Vec<PlannedPart> = [5, 90, 10, 40, 60, 0, 30].map(part).to_vec();
    let tasks = packed(&parts, (0..7).collect(), 3);
    assert_eq!(tasks, [vec![1], vec![4, 2, 0], vec![3, 6, 5]]);
    assert_eq!(packed(&parts, vec![2, 3], 5), [vec![3], vec![2]], "no task is empty");
    assert!(packed(&parts, Vec::new(), 5).is_empty());
}
