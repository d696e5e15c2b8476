import BellhopCore
import YAML

extension TestFacts {
    /// The `code` of a login or of a session's end: the given one, or that of the most frequent reason.
    mutating func code(_ type: EventType, _ node: Node, _ data: JSON.Object) -> JSON {
        let names = Failure.Reason.allCases.map(\.rawValue)
        if let place = node["code"], let text = place.scalarText, !text.isEmpty {
            if !names.contains(text) {
                report(
                    "wrong-value", "a login has no code `\(text)`", at: place,
                    help: Suggestion.didYouMean(text, among: names) ?? "such as `unauthenticated` or `unreachable`")
            }
            return .string(text)
        }
        if type == .sessionExpired { return .string(Failure.Reason.sessionExpired.rawValue) }
        return data["ok"] == false ? .string(Failure.Reason.unauthenticated.rawValue) : ""
    }
}
