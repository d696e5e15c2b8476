import BellhopCore
import CEL
import YAML

extension RuleReader {
    mutating func quiet(_ pair: Mapping.Pair, zone: TimeZoneTable, _ compiler: inout ExpressionCompiler) -> Quiet? {
        if let text = pair.value.scalarText, (try? HoursWindow.list(text)) != nil {
            return refuse(
                "wrong-type", "`quiet` must be a mapping, not \(pair.value.kind)", at: pair.value,
                help: "write `quiet: {hours: \"\(text)\"}`")
        }
        let tree = tree(pair.value, RuleKeys.quiet, of: "`quiet`")
        var reader = QuietReader(file: file, zone: zone, zones: context.zone, calendars: context.calendars)
        let except = tree.deferred("except").flatMap { node in
            compiler.compile(node, "`except`", expecting: .bool).map { (node, $0) }
        }
        if let (node, expression) = except, !expression.needs.isDisjoint(with: [.tasks, .snapshots]) {
            report(
                "not-known-yet", "`except` cannot use \(expression.needs.contains(.tasks) ? "`tasks`" : "`snapshot`")", at: node,
                help: "use `task`, the task of the message")
        }
        guard pair.value.mapping != nil else {
            if pair.value.isNull {
                report(
                    "wrong-type", "`quiet` must be a mapping, not \(pair.value.kind)", at: pair.value,
                    help: "such as `quiet: {hours: \"22:00-07:00\"}`")
            }
            return nil
        }
        let time = reader.time(pair.value, key: pair.key) { tree[$0]?.json?.asString }
        problems.report(reader.problems)
        return time.map { Quiet(time: $0, except: except?.1) }
    }

    /// Warns of a quiet time that keeps nothing back.
    mutating func warnOfUnusedQuiet(_ pair: Mapping.Pair?, _ steps: [Step]) {
        guard let pair, !steps.isEmpty, !steps.contains(where: \.action.isMessage) else { return }
        warn(
            "unused-quiet", "`quiet` keeps messages back, but this rule sends none", at: pair.key,
            help: "`quiet` is for `notify`; to stop all actions at certain hours, use a condition in `when`")
    }
}

extension RuleLoader {
    /// The quiet times of the connections, by their names, compiled.
    static func quiet(
        _ context: RuleContext, _ cache: SharedNameCache, _ problems: inout Diagnostics
    ) -> [String: Quiet] {
        var quiet: [String: Quiet] = [:]
        for connection in context.connections {
            guard let entry = connection.quiet else { continue }
            quiet[connection.name] = Quiet(time: entry.time)
            guard let text = entry.except else { continue }
            let names = SilenceBook.names(context, cache)
            do throws(Diagnostics) {
                quiet[connection.name]?.except = try SilenceBook.compile(text, names, "except", of: "a quiet time")
            } catch {
                for var problem in error.all {
                    problem.place = entry.exceptPlace
                    problems.report(problem)
                }
            }
        }
        return quiet
    }
}
