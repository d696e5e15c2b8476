import BellhopCore

/// Rows in columns, for people. Where it is wider than the screen, the least important columns are left out: no word is broken.
struct Table {
    struct Column {
        var heading: String
        /// 0 for one that is always shown; those with the greatest number go first.
        var rank: Int
        /// A text, whose end may be left out behind a word.
        var isText: Bool

        init(_ heading: String, rank: Int = 0, isText: Bool = false) {
            self.heading = heading
            self.rank = rank
            self.isText = isText
        }
    }

    private struct Row {
        var cells: [String]
        /// The colours of cells, by their columns.
        var paints: [Int: Paint]
    }

    /// A text that is left fewer columns says nothing.
    private static let leastText = 24
    /// A text on a screen takes no more: what is longer stands whole behind the row's id.
    private static let mostText = 60

    private let columns: [Column]
    private var rows: [Row] = []

    init(_ columns: [Column]) { self.columns = columns }

    mutating func add(_ cells: [String], paints: [Int: Paint] = [:]) {
        rows.append(Row(cells: cells.map(\.singleLine), paints: paints))
    }

    /// - Parameter width: the screen's; nil for no limit.
    func lines(width: Int?) -> [String] {
        var shown = Array(columns.indices)
        // A column in which nothing stands says nothing.
        shown.removeAll { column in columns[column].rank > 0 && !rows.isEmpty && rows.allSatisfy { $0.cells[column] == "-" } }
        var widths = natural
        if let width {
            for column in shown where columns[column].isText { widths[column] = min(widths[column], Self.mostText) }
            while let excess = excess(shown, widths, over: width),
                let least = shown.max(by: { columns[$0].rank < columns[$1].rank }),
                columns[least].rank > 0
            {
                if let text = shown.last(where: { columns[$0].isText }), widths[text] - excess >= Self.leastText {
                    widths[text] -= excess
                } else {
                    shown.removeAll { $0 == least }
                }
            }
        }
        let head = Row(cells: columns.map(\.heading), paints: [:])
        return ([head] + rows).enumerated().map { index, row in
            let line = shown.map { cell(row, $0, widths, isLast: $0 == shown.last) }.joined(separator: "  ")
            return index == 0 ? Paint.dim(line) : line
        }
    }

    private var natural: [Int] {
        columns.indices.map { column in ([columns[column].heading] + rows.map { $0.cells[column] }).map(\.shownWidth).max() ?? 0 }
    }

    /// By how much the table is too wide; nil where it fits.
    private func excess(_ shown: [Int], _ widths: [Int], over width: Int) -> Int? {
        let total = shown.reduce(0) { $0 + widths[$1] } + 2 * max(shown.count - 1, 0)
        return total > width ? total - width : nil
    }

    private func cell(_ row: Row, _ column: Int, _ widths: [Int], isLast: Bool) -> String {
        let text = row.cells[column].cutBetweenWords(to: widths[column])
        let padded = isLast ? text : text.padded(to: widths[column])
        return row.paints[column].map { $0(padded) } ?? padded
    }

    func print() { for line in lines(width: Screen.dataWidth) { Console.data(line) } }
}
