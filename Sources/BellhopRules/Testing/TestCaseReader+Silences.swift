import BellhopCore
import YAML

/// The silences of a test.
extension TestCaseReader {
    /// The silences beside `given`. Mistakes in their settings are reported with those of the test.
    mutating func silences(_ node: Node?) -> [Silence] {
        guard let node else { return [] }
        return (node.items ?? [node]).compactMap { item in
            guard item.mapping != nil else { return nil }
            var silent = SettingsReader<Never>(file: file)
            let values = silent.settings(item, as: TestKeys.silence, of: "a silence")
            if silent.diagnostics.hasErrors { return nil }
            guard let starts = moment(values.text("starts") ?? "", item["starts"] ?? item),
                let ends = moment(values.text("ends") ?? "", item["ends"] ?? item)
            else { return nil }
            guard starts < ends else {
                report("wrong-value", "`ends` is not after `starts`", at: item["ends"] ?? item)
                return nil
            }
            return silence(values, item, starts: starts, ends: ends)
        }
    }

    /// A silence that begins at this point of the test.
    mutating func silence(_ node: Node) -> TestCase.Step? {
        let values = settings(node, as: TestKeys.givenSilence, of: "`silence`")
        guard let span = values.duration("for"),
            let silence = silence(values, node, starts: .distantFuture, ends: .distantFuture)
        else { return nil }
        return .silence(silence, span)
    }

    private mutating func silence(_ values: Settings, _ node: Node, starts: Timestamp, ends: Timestamp) -> Silence? {
        if let when = values.text("when"), let place = node["when"] {
            let found = SilenceBook.problems(of: when, surroundings: surroundings)
            for var problem in found.all {
                problem.place = Diagnostic.Place(place, file: file)
                problems.report(problem)
            }
            if found.hasErrors { return nil }
        }
        let rules = values.texts("rules")
        review(rules, in: node["rules"] ?? node, "this test")
        return Silence(
            when: values.text("when"), rules: rules, receivers: values.texts("receivers"), starts: starts, ends: ends,
            writes: values.boolean("writes") ?? false)
    }
}
