import BellhopCore

/// The path of a file with inserted values, which may only be part of its name: the folder is the rule's own text.
struct FileName {
    /// The folder as written, with its `/`, and the name.
    let path: String

    /// Throws if a value would lead into another folder, hide the file, or leave no name.
    init(
        _ template: TextTemplate, evaluate: (RuleExpression) throws(RenderFailure) -> String
    ) throws(RenderFailure) {
        var path = ""
        // Whether the name begins with an inserted value, even an empty one.
        var beginsWithValue = false
        for piece in template.pieces {
            switch piece {
            case .text(let own): path += own
            case .value(let expression):
                let value = try evaluate(expression)
                if let problem = value.unicodeScalars.first(where: { $0 == "/" || $0.isControl }) {
                    let what = problem == "/" ? "a `/`" : "a control character"
                    throw RenderFailure("a value inserted into the name of a file has \(what): `\(value)`")
                }
                if path.isEmpty || path.hasSuffix("/") { beginsWithValue = true }
                path += value
            }
        }
        let name = PathText.name(of: path)
        if name.isEmpty { throw RenderFailure("the value inserted into `\(path)` is empty, so the path names no file") }
        if beginsWithValue, name.utf8.first == UInt8(ascii: ".") {
            throw RenderFailure("a value must not make the name of a file begin with a dot: `\(name)`")
        }
        if name.utf8.count > 255 {
            throw RenderFailure("the name of the file would have more than 255 bytes: `\(name.prefix(40))…`")
        }
        self.path = path
    }

    /// The first expression that would be part of a folder's name.
    static func inFolder(_ template: TemplateText) -> Range<Int>? {
        var last: Range<Int>?
        for piece in template.pieces {
            switch piece {
            case .expression(_, let range): last = last ?? range
            case .text(let text): if let last, text.utf8.contains(UInt8(ascii: "/")) { return last }
            }
        }
        return nil
    }

    /// Example paths for checks: expressions become a name, and one at the end may also give a rule file's extension.
    static func samples(_ template: TemplateText) -> [String] {
        let path = template.pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .expression: "a"
            }
        }.joined()
        if case .expression? = template.pieces.last { return [path, path + ".yaml"] }
        return [path]
    }
}
