//! Tests of the whole search against every plan of small rounds.

use super::fixture::{optimum, rounds};
use super::*;
use crate::optim::{evaluate, nobody_objective};

fn effort(cells: u64, sets_per_box: usize) -> Effort {
    Effort {
        cells,
        sets_per_box,
    }
}

#[test]
fn at_any_effort_the_bound_holds_and_only_an_optimum_is_called_one() {
    for (instance, table) in rounds() {
        let best = optimum(&table);
        let room = 1e-12 * nobody_objective(&instance).abs();
        for effort in [
            effort(0, 0),
            effort(300, 2),
            effort(3_000, 20),
            Effort::ROUND,
        ] {
            let found = solve(&instance, &table, effort);
            let value = evaluate(&instance, &found.plan).total - nobody_objective(&instance);
            assert!(found.lower_bound <= best + room, "{effort:?}");
            assert!(value >= best - room, "{effort:?}");
            assert!(!found.closed || value <= best + room, "{effort:?}");
        }
    }
}

#[test]
fn enough_effort_closes_every_small_round_and_too_little_leaves_some_open() {
    let mut open = 0;
    for (instance, table) in rounds() {
        assert!(solve(&instance, &table, Effort::ROUND).closed);
        open += usize::from(!solve(&instance, &table, effort(0, 0)).closed);
    }
    assert!(open > 0);
}

#[test]
fn the_heap_yields_the_lowest_bound_first_and_the_lowest_tau_among_equals() {
    let node = |bound, tau| Node {
        bound,
        tau,
        relaxed: None,
    };
    let mut heap = BinaryHeap::from([node(0.5, 1), node(-1.0, 9), node(-1.0, 3)]);
    let order: Vec<usize> = std::iter::from_fn(|| heap.pop())
        .map(|node| node.tau)
        .collect();
    assert_eq!(order, [3, 9, 1]);
}

#[test]
fn the_halves_of_a_box_cover_it_until_it_has_no_extent() {
    for (_, table) in rounds() {
        let mut search = Search::new(&table, Effort::ROUND);
        let layer = Layer::new(&table, 1);
        search.open(&layer, f64::NEG_INFINITY);
        let Some(node) = search.heap.pop() else {
            continue; // The first bound was enough.
        };
        let (sides, relaxation) = node.relaxed.expect("it was opened");
        let [a, b] = halves(&layer, &sides, &relaxation).expect("many sets");
        let joined = |a: (f64, f64), b: (f64, f64)| (a.1 == b.0).then_some((a.0, b.1));
        let across = a.r == b.r && joined(a.w, b.w) == Some(sides.w);
        let along = a.w == b.w && joined(a.r, b.r) == Some(sides.r);
        assert!(across || along, "{sides:?}: {a:?} {b:?}");
        let point = Sides {
            w: (0.25, 0.25),
            r: (0.5, 0.5),
        };
        assert_eq!(halves(&layer, &point, &relaxation), None);
    }
}
