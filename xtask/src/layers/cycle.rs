//! Modules that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Who imports whom, each with where.
pub type Graph<W> = BTreeMap<String, BTreeMap<String, W>>;

/// One circle of `graph` per set of modules that form one, as the modules in order of import; the
/// first is not repeated at the end.
pub fn cycles<W>(graph: &Graph<W>) -> Vec<Vec<String>> {
    let mut seen: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    let mut found = Vec::new();
    for start in graph.keys() {
        let Some(circle) = shortest(graph, start) else {
            continue;
        };
        if seen.insert(circle.iter().cloned().collect()) {
            found.push(circle);
        }
    }
    found
}

/// The shortest way from `start` back to itself.
fn shortest<W>(graph: &Graph<W>, start: &str) -> Option<Vec<String>> {
    let mut from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for next in graph.get(node).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                let back = std::iter::successors(Some(node), |node| from.get(node).copied());
                let mut circle: Vec<String> = back.map(str::to_owned).collect();
                circle.reverse();
                return Some(circle);
            }
            if !from.contains_key(next.as_str()) {
                from.insert(next, node);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &str)]) -> Graph<()> {
        let mut graph = Graph::new();
        for (from, to) in edges {
            let imports: &mut BTreeMap<_, _> = graph.entry((*from).to_owned()).or_default();
            imports.insert((*to).to_owned(), ());
        }
        graph
    }

    #[test]
    fn a_tree_has_no_circle() {
        let tree = graph(&[("a", "b"), ("a", "c"), ("b", "c")]);
        assert_eq!(cycles(&tree), [[""; 0]; 0]);
    }

    #[test]
    fn every_circle_is_named_once() {
        let circles = graph(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")]);
        assert_eq!(cycles(&circles), [["a", "b"], ["c", "d"]]);
        let long = graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("x", "a")]);
        assert_eq!(cycles(&long), [["a", "b", "c"]]);
    }
}
