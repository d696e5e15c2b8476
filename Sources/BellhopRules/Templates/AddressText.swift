import BellhopCore

/// An address, or a path below one, built from a rule's own text and inserted values.
///
/// Each value is encoded for its place, so that it stays one path segment or one query value. It cannot add a segment, a
/// parameter or a fragment, and only the rule's text before it determines the host.
struct AddressText {
    /// The part of the address that the next text belongs to.
    enum Place {
        /// Before the scheme has ended: an inserted value determines everything.
        case start
        /// The host, its port and the user info before an `@`.
        case authority
        case path, query, fragment
    }

    private(set) var text = ""
    private let isPath: Bool
    private var hasValues = false

    /// - Parameter isPath: whether it is a path below an address, and so starts in the path.
    init(isPath: Bool = false) { self.isPath = isPath }

    /// Renders a template.
    static func text(
        of template: TextTemplate, isPath: Bool = false, evaluate: (RuleExpression) throws(RenderFailure) -> String
    ) throws(RenderFailure) -> String {
        var address = AddressText(isPath: isPath)
        for piece in template.pieces {
            switch piece {
            case .text(let own): address.text += own
            case .value(let expression): try address.insert(try evaluate(expression))
            }
        }
        return try address.finished()
    }

    /// A fully computed path: its segments are kept, everything else is encoded.
    static func path(_ value: String) -> String { PercentEncoding.encode(value, keeping: "-._~/") }

    /// Whether an inserted value determines the host.
    static func hasComputedHost(_ template: TextTemplate) -> Bool {
        var address = AddressText()
        for piece in template.pieces {
            switch piece {
            case .text(let own): address.text += own
            case .value: return address.place == .start || address.place == .authority
            }
        }
        return false
    }

    var place: Place {
        var rest = text[...]
        if !isPath {
            guard let scheme = rest.firstRange(of: "://") else { return .start }
            rest = rest[scheme.upperBound...]
        }
        if rest.contains("#") { return .fragment }
        if rest.contains("?") { return .query }
        return isPath || rest.contains("/") ? .path : .authority
    }

    private mutating func insert(_ value: String) throws(RenderFailure) {
        hasValues = true
        switch place {
        case .start: text += value
        case .authority:
            let isName = value.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-._".utf8.contains($0) }
            guard isName else {
                throw RenderFailure(
                    "a value inserted into the host of an address may only contain letters, digits, `-`, `_` and `.`: `\(value)`")
            }
            text += value
        case .path, .query, .fragment: text += PercentEncoding.encode(value)
        }
    }

    private func finished() throws(RenderFailure) -> String {
        guard hasValues else { return text }
        var path = text.prefix { $0 != "?" && $0 != "#" }
        if !isPath, let scheme = path.firstRange(of: "://") { path = path[scheme.upperBound...].drop { $0 != "/" } }
        guard !PathText.steps(of: path).contains(where: { $0 == "." || $0 == ".." }) else {
            throw RenderFailure("a value adds a segment `.` or `..` to the path of an address: `\(path)`")
        }
        return text
    }
}
