/// A CSS selector for elements of a page: `main #list > li.open[data-id^=x], h1:first`.
struct Selector: Sendable {
    private struct Compound: Sendable {
        /// Nil for any.
        var name: String?
        var tests: [Test] = []

        func fits(_ node: HTMLDocument.Node) -> Bool {
            guard case .element(let own, let attributes) = node.content else { return false }
            return (name == nil || name == own) && tests.allSatisfy { $0.fits(attributes) }
        }
    }

    private struct Test: Sendable {
        var attribute: String
        var way: Way
        var value: String

        enum Way: String, Sendable {
            case exists = ""
            case equals = "="
            case hasWord = "~="
            case beginsWith = "^="
            case endsWith = "$="
            case contains = "*="
        }

        func fits(_ attributes: [String: String]) -> Bool {
            guard let found = attributes[attribute] else { return false }
            return switch way {
            case .exists: true
            case .equals: found == value
            case .hasWord: found.split(whereSeparator: \.isWhitespace).contains { $0 == value }
            case .beginsWith: !value.isEmpty && found.hasPrefix(value)
            case .endsWith: !value.isEmpty && found.hasSuffix(value)
            case .contains: !value.isEmpty && found.contains(value)
            }
        }
    }

    /// Compounds from the outermost in; each but the first says whether it must be a child of the previous one.
    private struct Chain: Sendable {
        var links: [(compound: Compound, isChild: Bool)]
        /// Matches only the first element.
        var isFirst = false
    }

    private let chains: [Chain]

    init(_ text: String) throws(InvalidValue) {
        var reader = Reader(text)
        chains = try reader.chains()
    }

    /// The indexes of the matching elements, in document order. Takes linear time, however the page is nested.
    func matches(in document: HTMLDocument) -> [Int] {
        var found: Set<Int> = []
        for chain in chains {
            let fitting = Self.fitting(chain, document)
            if chain.isFirst {
                if let first = fitting.firstIndex(of: true) { found.insert(first) }
            } else {
                for place in fitting.indices where fitting[place] { found.insert(place) }
            }
        }
        return found.sorted()
    }

    /// Whether the chain ends at each node. Processes the links from the outermost in; parents precede their children, so their
    /// results are known first.
    private static func fitting(_ chain: Chain, _ document: HTMLDocument) -> [Bool] {
        var fits = [Bool](repeating: true, count: document.nodes.count)
        for (number, link) in chain.links.enumerated() {
            let outer = fits
            var isBelow = [Bool](repeating: false, count: document.nodes.count)
            fits[0] = false
            for place in document.nodes.indices.dropFirst() {
                let parent = document.nodes[place].parent
                isBelow[place] = outer[parent] || isBelow[parent]
                let isInside = number == 0 || (link.isChild ? outer[parent] : isBelow[place])
                fits[place] = isInside && link.compound.fits(document.nodes[place])
            }
        }
        return fits
    }

    // MARK: Reading

    private struct Reader {
        let text: String
        var rest: Substring

        init(_ text: String) {
            self.text = text
            rest = Substring(text)
        }

        mutating func chains() throws(InvalidValue) -> [Chain] {
            var chains = [try chain()]
            while rest.first == "," {
                rest.removeFirst()
                chains.append(try chain())
            }
            guard rest.isEmpty else { throw problem("`\(rest.prefix(20))` is not valid in a selector") }
            return chains
        }

        private mutating func chain() throws(InvalidValue) -> Chain {
            skipBlanks()
            var chain = Chain(links: [])
            var isChild = false
            while true {
                let (compound, isFirst) = try compound()
                chain.links.append((compound, isChild))
                chain.isFirst = isFirst
                let hadBlank = rest.first?.isWhitespace == true
                skipBlanks()
                if rest.isEmpty || rest.first == "," { return chain }
                if isFirst { throw problem("`:first` must be at the end") }
                isChild = rest.first == ">"
                if isChild {
                    rest.removeFirst()
                    skipBlanks()
                } else if !hadBlank {
                    throw problem("`\(rest.prefix(20))` is not valid in a selector")
                }
            }
        }

        private mutating func compound() throws(InvalidValue) -> (Compound, isFirst: Bool) {
            var compound = Compound()
            var isEmpty = true
            var isFirst = false
            if rest.first == "*" {
                rest.removeFirst()
                isEmpty = false
            } else if let first = rest.first, first.isLetter {
                compound.name = ASCII.lowercased(word())
                isEmpty = false
            }
            while let mark = rest.first, "#.[:".contains(mark) {
                rest.removeFirst()
                isEmpty = false
                switch mark {
                case "#": compound.tests.append(Test(attribute: "id", way: .equals, value: try named("#")))
                case ".": compound.tests.append(Test(attribute: "class", way: .hasWord, value: try named(".")))
                case "[": compound.tests.append(try test())
                default:
                    let name = word()
                    guard name == "first" else { throw problem("`:\(name)` is not supported; only `:first` is") }
                    isFirst = true
                }
            }
            if isEmpty { throw problem(rest.isEmpty ? "it ends too early" : "`\(rest.prefix(20))` is not valid in a selector") }
            return (compound, isFirst)
        }

        private mutating func test() throws(InvalidValue) -> Test {
            skipBlanks()
            let name = ASCII.lowercased(try named("["))
            skipBlanks()
            var way = Test.Way.exists
            for candidate in [Test.Way.hasWord, .beginsWith, .endsWith, .contains, .equals]
            where rest.hasPrefix(candidate.rawValue) {
                way = candidate
                break
            }
            rest = rest.dropFirst(way.rawValue.count)
            skipBlanks()
            var value = ""
            if way != .exists {
                if let quote = rest.first, quote == "\"" || quote == "'" {
                    rest.removeFirst()
                    guard let end = rest.firstIndex(of: quote) else { throw problem("a quote has no end") }
                    value = String(rest[..<end])
                    rest = rest[rest.index(after: end)...]
                } else {
                    let plain = rest.prefix { $0 != "]" && !$0.isWhitespace }
                    value = String(plain)
                    rest = rest[plain.endIndex...]
                }
                skipBlanks()
            }
            guard rest.first == "]" else { throw problem("a `[` has no `]`") }
            rest.removeFirst()
            return Test(attribute: name, way: way, value: value)
        }

        private mutating func named(_ mark: String) throws(InvalidValue) -> String {
            let word = word()
            if word.isEmpty { throw problem("`\(mark)` has no name after it") }
            return word
        }

        private mutating func word() -> String {
            let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
            rest = rest[word.endIndex...]
            return String(word)
        }

        private mutating func skipBlanks() { rest = rest.drop(while: \.isWhitespace) }

        private func problem(_ what: String) -> InvalidValue { InvalidValue(message: "`\(text)` is not a selector: \(what).") }
    }
}
