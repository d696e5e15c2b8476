/// The text of a page as people read it: one line per block, the cells of a row side by side, whitespace collapsed.
struct HTMLText: Sendable {
    /// Elements that begin and end a line.
    static let blocks: Set<String> = [
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div", "dl", "dt",
        "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html",
        "legend", "li", "main", "menu", "nav", "ol", "optgroup", "p", "pre", "section", "summary", "table", "tbody", "tfoot",
        "thead", "tr", "ul",
    ]
    /// Elements without visible text.
    private static let silent: Set<String> = [
        "head", "title", "script", "style", "noscript", "template", "svg", "iframe", "object", "datalist",
    ]
    /// Types of input whose value is hidden or only a label.
    private static let hiddenInputs: Set<String> = [
        "hidden", "password", "submit", "button", "reset", "image", "file", "checkbox", "radio",
    ]

    private let document: HTMLDocument
    /// Nodes to leave out, with their descendants.
    private let ignored: Set<Int>
    private var lines: [String] = []
    private var line = ""
    private var wantsBlank = false

    init(_ document: HTMLDocument, ignoring ignored: Set<Int> = []) { (self.document, self.ignored) = (document, ignored) }

    /// The text of these nodes, each beginning a line.
    static func text(of places: [Int], in document: HTMLDocument, ignoring ignored: Set<Int> = []) -> String {
        var text = HTMLText(document, ignoring: ignored)
        for place in places {
            text.add(place, isPreformatted: false)
            text.breakLine()
        }
        return text.lines.joined(separator: "\n")
    }

    private mutating func add(_ place: Int, isPreformatted: Bool) {
        let node = document.nodes[place]
        if ignored.contains(place) { return }
        switch node.content {
        case .text(let words): isPreformatted ? addLines(words) : addWords(words)
        case .element(let name, let attributes):
            guard document.isXML || !Self.silent.contains(name) && attributes["hidden"] == nil else { return }
            switch document.isXML ? "" : name {
            case "br": breakLine()
            case "img": addWords(attributes["alt"] ?? "")
            case "input": addInput(attributes)
            case "select": addChoice(node)
            case "td", "th":
                if !line.isEmpty {
                    line += " |"
                    wantsBlank = true
                }
                for child in node.children { add(child, isPreformatted: isPreformatted) }
            default:
                let isBlock = document.isXML || Self.blocks.contains(name)
                if isBlock { breakLine() }
                for child in node.children { add(child, isPreformatted: isPreformatted || !document.isXML && name == "pre") }
                if isBlock { breakLine() }
            }
        }
    }

    private mutating func addInput(_ attributes: [String: String]) {
        guard !Self.hiddenInputs.contains(ASCII.lowercased(attributes["type"] ?? "text")) else { return }
        wantsBlank = true
        addWords(attributes["value"] ?? "")
        wantsBlank = true
    }

    /// The chosen options of a select element; the first if none is chosen.
    private mutating func addChoice(_ node: HTMLDocument.Node) {
        var options: [Int] = []
        for child in node.children {
            if document.nodes[child].name == "option" { options.append(child) }
            if document.nodes[child].name == "optgroup" {
                options += document.nodes[child].children.filter { document.nodes[$0].name == "option" }
            }
        }
        let chosen = options.filter { document.nodes[$0].attributes["selected"] != nil }
        for option in chosen.isEmpty ? Array(options.prefix(1)) : chosen {
            wantsBlank = true
            addWords(document.rawText(of: option))
            wantsBlank = true
        }
    }

    private mutating func addWords(_ text: String) {
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace {
                wantsBlank = true
            } else if scalar != "\u{AD}" && scalar != "\u{200B}" && scalar != "\u{FEFF}" {
                if wantsBlank, !line.isEmpty { line += " " }
                wantsBlank = false
                line.unicodeScalars.append(scalar)
            }
        }
    }

    private mutating func addLines(_ text: String) {
        for (place, part) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if place > 0 { breakLine() }
            line.unicodeScalars.append(contentsOf: part.filter { $0 != "\r" })
        }
    }

    private mutating func breakLine() {
        while let last = line.unicodeScalars.last, last.properties.isWhitespace { line.unicodeScalars.removeLast() }
        if !line.isEmpty { lines.append(line) }
        line = ""
        wantsBlank = false
    }
}
