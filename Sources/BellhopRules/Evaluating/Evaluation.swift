public import BellhopCore
import CEL

/// The result of an expression and of each of its parts.
public struct Evaluation: Sendable {
    public enum Outcome: Sendable {
        case value(Result)
        /// The place is in the file `<expression>`.
        case failure(Diagnostic)
    }

    public var outcome: Outcome
    /// The parts in the order of the text, without literals. A path such as `task.priority` is one part.
    public var parts: [Part]

    /// A value for people and for programs.
    public struct Result: Sendable {
        let value: Value
        /// `int`, `list(string)`, `a task of source …`
        public let type: String
        let zone: TimeZoneTable

        public var json: JSON { value.asJSON(in: zone) }

        /// The value as one would write it in an expression; lists, maps and tasks as JSON.
        public var text: String {
            switch value {
            case .list, .map: json.text
            case .object(let object) where object.text == nil: json.text
            default: value.description
            }
        }

        /// The text on one line, cut if it is long. A long list is shown as its number of elements.
        public var brief: String {
            let limit = 100
            if case .list(let list) = value, list.count > 8 { return "[…] (\(list.count) elements)" }
            let text = text
            let scalars = text.unicodeScalars
            return scalars.count <= limit ? text : String(String.UnicodeScalarView(scalars.prefix(limit - 1))) + "…"
        }
    }

    public struct Part: Sendable {
        public enum Outcome: Sendable {
            case value(Result)
            case failure(code: String, message: String)
            /// Not evaluated, such as the right side of `&&` after a false left side.
            case notEvaluated
        }

        /// The part's own text.
        public let text: String
        /// From 1.
        public let line: Int
        /// From 1, in Unicode scalars.
        public let column: Int
        /// The nesting depth; the direct parts of the whole are at 0.
        public let depth: Int
        /// The result; inside a macro, that of the last element.
        public let outcome: Outcome
        /// How often it was evaluated: more than once inside a macro.
        public let times: Int
        /// The result on one line, if another process evaluated the part. Nothing else is known of the result then.
        var remoteBrief: String?
    }
}

extension Evaluation {
    /// The evaluation as JSON: `value` and `type`, or `error`; and `parts`, with only the count of `elements` of long lists.
    public var json: JSON {
        var object = JSON.Object()
        switch outcome {
        case .value(let result):
            object["value"] = result.json
            object["type"] = .string(result.type)
        case .failure(let diagnostic): object["error"] = diagnostic.json
        }
        object["parts"] = .array(parts.map(\.json))
        return .object(object)
    }
}

extension Evaluation.Part {
    fileprivate var json: JSON {
        var object: JSON.Object = [
            "text": .string(text), "line": .int(Int64(line)), "column": .int(Int64(column)), "depth": .int(Int64(depth)),
        ]
        switch outcome {
        case .value(let result):
            if case .list(let list) = result.value, list.count > 100 {
                object["elements"] = .int(Int64(list.count))
            } else {
                object["value"] = result.json
            }
        case .failure(let code, let message): object["error"] = ["code": .string(code), "message": .string(message)]
        case .notEvaluated: break
        }
        object["times"] = .int(Int64(times))
        return .object(object)
    }
}
