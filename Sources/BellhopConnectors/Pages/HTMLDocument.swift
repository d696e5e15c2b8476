/// A page of HTML as a tree, parsed leniently.
struct HTMLDocument: Sendable, Hashable {
    /// Elements nested deeper than this become siblings.
    static let deepest = 256

    struct Node: Sendable, Hashable {
        enum Content: Sendable, Hashable {
            /// All names are in lower case. Of duplicate attributes, the first counts.
            case element(String, [String: String])
            case text(String)
        }

        var content: Content
        /// The index of the parent element; the root is its own parent.
        var parent: Int
        var children: [Int] = []
        /// Whether it is so deep that its children became its siblings.
        var isFlat = false

        var name: String? { if case .element(let name, _) = content { name } else { nil } }
        var attributes: [String: String] { if case .element(_, let attributes) = content { attributes } else { [:] } }
    }

    /// In document order; the first is the root, an element without a name.
    private(set) var nodes = [Node(content: .element("", [:]), parent: 0)]
    /// Whether it is other XML, such as a feed: each element is a block, and all text is visible.
    let isXML: Bool

    init(_ bytes: [UInt8], isXML: Bool = false) {
        self.isXML = isXML
        var builder = HTMLBuilder(isXML: isXML)
        var tokenizer = HTMLTokenizer(bytes, isXML: isXML)
        while let token = tokenizer.next() { builder.take(token) }
        nodes = builder.nodes
    }

    init(_ text: String) { self.init(Array(text.utf8)) }

    /// The element's text exactly as in the page, including whitespace.
    func rawText(of place: Int) -> String {
        var text = ""
        visit(place) { node in if case .text(let words) = node.content { text += words } }
        return text
    }

    /// The text of the first `title`, on one line; empty if there is none.
    var title: String {
        guard let place = nodes.indices.first(where: { nodes[$0].name == "title" }) else { return "" }
        return Self.collapsed(rawText(of: place))
    }

    /// The text on one line, with its whitespace collapsed. Works on code points: an accent after a space must not get lost with it.
    static func collapsed(_ text: String) -> String {
        text.unicodeScalars.split { $0.properties.isWhitespace }.map { String($0) }.joined(separator: " ")
    }

    /// Visits the node and its descendants, in document order.
    func visit(_ place: Int, _ body: (Node) -> Void) {
        var stack = [place]
        while let next = stack.popLast() {
            body(nodes[next])
            stack += nodes[next].children.reversed()
        }
    }
}

/// Builds a tree from tokens: closes unclosed elements, and ignores stray end tags.
private struct HTMLBuilder {
    let isXML: Bool
    var nodes = [HTMLDocument.Node(content: .element("", [:]), parent: 0)]
    /// The open elements, the root first.
    private var open = [0]
    /// The names of the open elements below ``HTMLDocument/deepest``.
    private var beyond: [String] = []
    /// How often each name occurs in ``beyond``: searching it for each end tag would take quadratic time on a hostile page.
    private var countBeyond: [String: Int] = [:]

    init(isXML: Bool) { self.isXML = isXML }

    mutating func take(_ token: HTMLTokenizer.Token) {
        switch token {
        case .text(let text): add(.text(text))
        case .start(let name, let attributes, let isEmpty):
            if beyond.isEmpty, !isXML { closeImplied(by: name) }
            let place = add(.element(name, attributes))
            guard !isEmpty, isXML || !HTMLTokenizer.voids.contains(name) else { return }
            if open.count < HTMLDocument.deepest {
                open.append(place)
            } else {
                nodes[place].isFlat = true
                beyond.append(name)
                countBeyond[name, default: 0] += 1
            }
        case .end(let name):
            // An end tag for an element below ``HTMLDocument/deepest`` closes none of the open elements.
            if countBeyond[name] != nil { return closeBeyond(name) }
            guard let depth = open.lastIndex(where: { nodes[$0].name == name }), depth > 0 else { return }
            open.removeSubrange(depth...)
            beyond = []
            countBeyond = [:]
        }
    }

    /// Closes the innermost element of this name below ``HTMLDocument/deepest``, and those within it.
    private mutating func closeBeyond(_ name: String) {
        while let ended = beyond.popLast() {
            countBeyond[ended] = countBeyond[ended].flatMap { $0 > 1 ? $0 - 1 : nil }
            if ended == name { return }
        }
    }

    @discardableResult
    private mutating func add(_ content: HTMLDocument.Node.Content) -> Int {
        let parent = open[open.count - 1]
        nodes.append(HTMLDocument.Node(content: content, parent: parent))
        nodes[parent].children.append(nodes.count - 1)
        return nodes.count - 1
    }

    /// Closes the elements whose end tag this start tag implies.
    private mutating func closeImplied(by name: String) {
        let (ended, bounds): (Set<String>, Set<String>) =
            switch name {
            case "li": (["li"], ["ul", "ol", "menu"])
            case "dt", "dd": (["dt", "dd"], ["dl"])
            case "option": (["option"], ["select", "datalist"])
            case "optgroup": (["option", "optgroup"], ["select"])
            case "td", "th": (["td", "th"], ["tr", "table"])
            case "tr": (["td", "th", "tr"], ["table"])
            case "tbody", "thead", "tfoot": (["td", "th", "tr", "tbody", "thead", "tfoot"], ["table"])
            default: HTMLText.blocks.contains(name) ? (["p"], ["td", "th", "li", "div", "table", "button"]) : ([], [])
            }
        guard !ended.isEmpty else { return }
        var depth = open.count - 1
        var cut: Int?
        while depth > 0, let here = nodes[open[depth]].name, !bounds.contains(here) {
            if ended.contains(here) { cut = depth }
            depth -= 1
        }
        if let cut { open.removeSubrange(cut...) }
    }
}
