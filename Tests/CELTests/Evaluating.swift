import BellhopCore
import CEL
import Foundation

/// The host of the tests: this machine's time zones, and Bellhop's suggestions.
let host = Host(
    zone: { name in
        guard !name.contains(".."), let bytes = try? Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/\(name)")),
            let table = try? TimeZoneTable(name: name, tzif: Array(bytes))
        else { return nil }
        return Zone(
            offset: { Int64(table.offset(at: Timestamp(seconds: $0))) },
            abbreviation: { table.abbreviation(at: Timestamp(seconds: $0)) })
    }, closest: { Suggestion.closest(to: $0, among: $1) })

/// One line of a table: an expression and its expected value, type or error.
struct Line: Sendable, CustomStringConvertible {
    let text: String
    let expected: String

    init(_ text: String, _ expected: String) { (self.text, self.expected) = (text, expected) }

    var description: String { text }
}

/// The value of a planned expression.
///
/// - Throws: an error too if observed evaluation has another result.
func evaluated(_ text: String, _ variables: [String: Value] = [:], checked: Bool = true) throws -> Value {
    var environment = Environment(host: host)
    for name in variables.keys { environment.declare(name, .dyn) }
    let expression = try checked ? environment.compile(text) : environment.compileUnchecked(text)
    let value = try expression.program.evaluate(variables, in: environment)
    guard case .value(let seen) = expression.explain(Activation(environment, resolver: Bindings(variables))).result,
        seen.description == value.description
    else { throw EvaluationError(.host, "observed evaluation has another result") }
    return value
}

/// How the evaluation of an expression fails: code, message, and the part of the text at fault.
func failure(_ text: String, _ variables: [String: Value] = [:], limits: Limits = Limits(), checked: Bool = false) throws
    -> String
{
    var environment = Environment(limits: limits, host: host)
    for name in variables.keys { environment.declare(name, .dyn) }
    let expression = try checked ? environment.compile(text) : environment.compileUnchecked(text)
    do throws(EvaluationError) {
        return "gave \(try expression.program.evaluate(variables, in: environment))"
    } catch {
        let bytes = Array(text.utf8)
        let part = error.range.map { String(decoding: bytes[$0], as: UTF8.self) } ?? "?"
        return "\(error.code.rawValue): \(error.message) at \(part)"
    }
}

/// The problems found by the checker, one per line.
func problems(_ text: String, in environment: Environment) -> String {
    do throws(Issues) {
        return "fine: \(try environment.compile(text).type)"
    } catch {
        let bytes = Array(text.utf8)
        return error.all.map { issue in
            let part = String(decoding: bytes[issue.range], as: UTF8.self)
            return "\(issue.code): \(issue.message) at \(part)\(issue.help.map { " (\($0))" } ?? "")"
        }.joined(separator: "\n")
    }
}

/// The type of a task and an environment with a task, as declared by a host.
enum Sample {
    static let task = ObjectType(
        "task",
        fields: [
            .init("number", .string), .init("title", .string), .init("priority", .nullable(.int)), .init("score", .double),
            .init("active", .nullable(.bool)), .init("created", .timestamp), .init("due", .nullable(.timestamp)),
            .init("labels", .map(.string, .string)),
        ])

    static let environment: Environment = {
        var environment = Environment(host: host)
        environment.declare("task", .object(task))
        environment.declare("before", .nullable(.object(task)))
        environment.declare("tasks", .list(.object(task)))
        environment.declare("event", .object(ObjectType("event", fields: [.init("type", .string), .init("source", .string)])))
        environment.declare("anything", .dyn)
        return environment
    }()
}
