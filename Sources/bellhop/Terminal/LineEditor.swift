/// A line being typed, edited by keys. Pure; the caller handles the terminal.
struct LineEditor {
    /// The action that the caller must take after a key.
    enum Effect: Hashable {
        case redraw
        /// The line is finished.
        case submit(String)
        /// The line was cancelled.
        case abandon
        case end
        /// The user asks for completions of the text before the cursor.
        case complete(String)
        case clearScreen
    }

    private(set) var characters: [Character] = []
    /// The number of characters before the cursor.
    private(set) var cursor = 0
    private var history: [String]
    /// The index in the history; the history's count means the line being typed.
    private var place: Int
    /// The line typed before the history was opened.
    private var draft = ""

    init(history: [String] = []) {
        self.history = history
        place = history.count
    }

    var text: String { String(characters) }
    private var before: String { String(characters[..<cursor]) }

    mutating func press(_ key: Key) -> Effect {
        switch key {
        case .text(let text): insert(text)
        case .enter: return submit()
        case .tab: return .complete(before)
        case .backspace: erase(cursor - 1..<cursor)
        case .delete: erase(cursor..<cursor + 1)
        case .left: move(to: cursor - 1)
        case .right: move(to: cursor + 1)
        case .escape: break
        case .home: move(to: 0)
        case .end: move(to: characters.count)
        case .wordLeft: move(to: wordStart)
        case .wordRight: move(to: wordEnd)
        case .up: showHistory(place - 1)
        case .down: showHistory(place + 1)
        case .eraseToEnd: erase(cursor..<characters.count)
        case .eraseToStart: erase(0..<cursor)
        case .eraseWord: erase(wordStart..<cursor)
        case .clearScreen: return .clearScreen
        case .interrupt:
            set("")
            place = history.count
            return .abandon
        case .endOfInput:
            if characters.isEmpty { return .end }
            erase(cursor..<cursor + 1)
        }
        return .redraw
    }

    /// Inserts text at the cursor; a combining mark joins the character before it.
    mutating func insert(_ text: String) {
        for scalar in text.unicodeScalars {
            if cursor > 0 {
                var joined = String(characters[cursor - 1])
                joined.unicodeScalars.append(scalar)
                if joined.count == 1, let character = joined.first {
                    characters[cursor - 1] = character
                    continue
                }
            }
            characters.insert(Character(scalar), at: cursor)
            cursor += 1
        }
    }

    private mutating func submit() -> Effect {
        let line = text
        if !line.isEmpty, history.last != line { history.append(line) }
        place = history.count
        set("")
        return .submit(line)
    }

    private mutating func showHistory(_ wanted: Int) {
        guard (0...history.count).contains(wanted), wanted != place else { return }
        if place == history.count { draft = text }
        place = wanted
        set(place == history.count ? draft : history[place])
    }

    private mutating func set(_ text: String) {
        characters = Array(text)
        cursor = characters.count
    }

    private mutating func move(to wanted: Int) { cursor = min(max(wanted, 0), characters.count) }

    private mutating func erase(_ range: Range<Int>) {
        let range = range.clamped(to: 0..<characters.count)
        characters.removeSubrange(range)
        if cursor > range.lowerBound { cursor = max(range.lowerBound, cursor - range.count) }
    }

    private var wordStart: Int {
        var place = cursor
        while place > 0, !characters[place - 1].isPartOfWord { place -= 1 }
        while place > 0, characters[place - 1].isPartOfWord { place -= 1 }
        return place
    }

    private var wordEnd: Int {
        var place = cursor
        while place < characters.count, !characters[place].isPartOfWord { place += 1 }
        while place < characters.count, characters[place].isPartOfWord { place += 1 }
        return place
    }
}

extension LineEditor {
    /// The part of the line that fits beside a prompt, and its number of columns before the cursor.
    func window(columns: Int) -> (text: String, cursor: Int) {
        let room = max(columns, 4) - 1
        var start = cursor
        var left = 0
        // Keep the cursor visible, preferring the text before it.
        while start > 0, left + characters[start - 1].columns <= room {
            start -= 1
            left += characters[start].columns
        }
        var end = cursor
        var width = left
        while end < characters.count, width + characters[end].columns <= room {
            width += characters[end].columns
            end += 1
        }
        return (String(characters[start..<end]), left)
    }
}

extension Character {
    fileprivate var isPartOfWord: Bool { isLetter || isNumber || self == "_" }
}
