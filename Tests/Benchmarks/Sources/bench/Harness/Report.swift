import BellhopCore

/// All measurements, with the machine that ran them.
struct Report: Sendable {
    var measurements: [Measurement] = []
    var loadBefore: Double
    var loadAfter: Double
    var cores: Int
    var syncTime: Double

    /// True if other processes used the machine when the run began.
    var isBusy: Bool { loadBefore > Double(cores) / 2 }

    /// True if every floor was reached; a figure that could not be measured counts as missed.
    var passes: Bool {
        measurements.allSatisfy { measurement in
            switch measurement.verdict(onBusyMachine: isBusy) {
            case .met, .reported, .busy: true
            case .missed, .missing: false
            }
        }
    }

    /// The table, aligned.
    var text: String {
        var rows = [["benchmark", "measured", "yardstick", "", "ratio", "aim", "verdict"]]
        for measurement in measurements {
            if let reason = measurement.missing {
                rows.append([measurement.name, "-", reason, "", "-", "-", "missing"])
                continue
            }
            rows.append([
                measurement.name, measurement.measured.description, measurement.yardstick?.name ?? "-",
                measurement.yardstick?.quantity.description ?? "", measurement.ratio.map { Quantity.fixed($0, 2) } ?? "-",
                measurement.aim?.text(for: measurement.measured) ?? "-", measurement.verdict(onBusyMachine: isBusy).rawValue,
            ])
        }
        var lines = Self.aligned(rows, rightward: [1, 3, 4])
        let remarks = measurements.filter { $0.remark != nil }
        if !remarks.isEmpty { lines.append("") }
        for measurement in remarks { lines.append("\(measurement.name): \(measurement.remark ?? "")") }
        lines += ["", machine]
        return lines.joined(separator: "\n")
    }

    private var machine: String {
        "\(cores) cores, load \(Quantity.fixed(loadBefore, 1)) before and \(Quantity.fixed(loadAfter, 1)) after"
            + (isBusy ? " (busy: absolute figures are for a quiet machine)" : "")
            + "; a page on disk takes \(Quantity.time(syncTime))."
    }

    private static func aligned(_ rows: [[String]], rightward: Set<Int>) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                let blanks = String(repeating: " ", count: widths[column] - cell.count)
                return rightward.contains(column) ? blanks + cell : cell + blanks
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }

    var json: JSON {
        .object([
            "machine": .object([
                "cores": .int(Int64(cores)), "load_before": .double(loadBefore), "load_after": .double(loadAfter),
                "sync_seconds": .double(syncTime), "busy": .bool(isBusy),
            ]), "measurements": .array(measurements.map(json)), "ok": .bool(passes),
        ])
    }

    private func json(_ measurement: Measurement) -> JSON {
        var object: JSON.Object = ["name": .string(measurement.name)]
        if let reason = measurement.missing {
            object["missing"] = .string(reason)
            return .object(object)
        }
        object["value"] = .double(measurement.measured.value)
        object["unit"] = .string(measurement.measured.unit)
        if let yardstick = measurement.yardstick {
            object["yardstick"] = .object([
                "name": .string(yardstick.name), "value": .double(yardstick.quantity.value),
                "unit": .string(yardstick.quantity.unit),
            ])
        }
        if let ratio = measurement.ratio { object["ratio"] = .double(ratio) }
        if let aim = measurement.aim { object["aim"] = .string(aim.text(for: measurement.measured)) }
        object["verdict"] = .string(measurement.verdict(onBusyMachine: isBusy).rawValue)
        if let remark = measurement.remark { object["remark"] = .string(remark) }
        return .object(object)
    }
}
