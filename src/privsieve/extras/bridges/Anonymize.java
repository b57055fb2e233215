// PRIVATE: this folder is about the rows of a table.
// Written by privsieve @PRIVSIEVE@ for the API of ARX @ARX@.  With its library beside this file:
//   javac -cp libarx.jar Anonymize.java && java -cp libarx.jar:. Anonymize

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataDefinition;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.DataType;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.EntropyLDiversity;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.criteria.OrderedDistanceTCloseness;

public class Anonymize {

    private static final Charset UTF_8 = StandardCharsets.UTF_8;

    public static void main(String[] args) throws IOException {
        Data data = Data.create("data.csv", UTF_8, ';');
        DataDefinition definition = data.getDefinition();
@SETTINGS@
        // Rows that ARX may leave out (their key variables become *), as a share of all.
        config.setSuppressionLimit(0d);

        ARXResult result = new ARXAnonymizer().anonymize(data, config);
        if (!result.isResultAvailable()) {
            System.err.println("no choice of levels keeps these limits; let ARX leave rows out: setSuppressionLimit");
            System.exit(5);
        }
        DataHandle output = result.getOutput(false);
        for (String name : definition.getQuasiIdentifyingAttributes()) {
            System.out.println("level of " + name + ": "
                    + result.getGlobalOptimum().getGeneralization(name));
        }
        System.out.println("smallest group, ARX: " + output.getStatistics()
                .getEquivalenceClassStatistics().getMinimalEquivalenceClassSize());
        save(output, Paths.get("result.csv"));
    }

    // A key variable: its hierarchy, and the lowest and highest level that ARX may choose.
    private static void known(DataDefinition definition, String column, String file, int lowest,
                              int highest) throws IOException {
        definition.setAttributeType(column, Hierarchy.create(file, UTF_8, ';'));
        definition.setMinimumGeneralization(column, lowest);
        definition.setMaximumGeneralization(column, highest);
    }

    // Write the rows in shuffled order, always in UTF-8.
    private static void save(DataHandle output, Path path) throws IOException {
        try (Writer file = Files.newBufferedWriter(path, UTF_8, StandardOpenOption.CREATE_NEW)) {
            Iterator<String[]> rows = output.shuffledIterator();
            while (rows.hasNext()) {
                String[] row = rows.next();
                for (int at = 0; at < row.length; at++) {
                    String text = row[at].replace("\"", "\"\"");
                    file.write((at > 0 ? ";\"" : "\"") + text + "\"");
                }
                file.write("\n");
            }
        }
    }
}
